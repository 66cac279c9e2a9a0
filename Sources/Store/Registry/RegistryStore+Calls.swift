// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// How the registry asks Redis.
extension RegistryStore {
    func evaluate(_ script: RedisScript, _ arguments: [RedisArgument]) async throws(RegistryError) -> RedisReply {
        do {
            return try await connection.evaluate(
                script,
                keys: [.text(RegistryScripts.tag)],
                arguments: arguments,
                deadline: Self.deadline
            )
        } catch {
            throw .store(error)
        }
    }

    /// Runs a script whose effects are on disk before it is answered, where this store sees to that.
    func write(_ script: RedisScript, _ arguments: [RedisArgument]) async throws(RegistryError) -> RedisReply {
        guard let sync else { return try await evaluate(script, arguments) }
        let name: String
        do {
            name = try await sync.begin(within: Self.deadline)
        } catch {
            throw .store(error)
        }
        do throws(RegistryError) {
            let reply = try await evaluate(script, arguments)
            sync.end(name)
            return reply
        } catch {
            sync.end(name)
            throw error
        }
    }

    func command(_ arguments: RedisArgument...) async throws(RegistryError) -> RedisReply {
        try await command(arguments)
    }

    func command(_ arguments: [RedisArgument]) async throws(RegistryError) -> RedisReply {
        do {
            return try await connection.call(arguments, deadline: Self.deadline)
        } catch {
            throw .store(error)
        }
    }
}
