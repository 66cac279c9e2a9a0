// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Transport

/// Has an embedded Redis sync to disk exactly while registry changes are under way, of whichever process.
///
/// Isolated to the Reactor.
///
/// A change must outlive a power cut once it is answered; a window need not, and a sync for each costs more CPU than
/// the window itself. Redis starts with `appendfsync always`; between changes it is `everysec`, which a killed process
/// survives whole, because the bytes are with the kernel. It is one setting for control and all workers, so each notes
/// its changes in Redis before it asks for syncs, and whoever goes back does so only if nothing is noted at that
/// moment: the set is watched, so a change that begins in between keeps the syncs.
@Reactor
final class ChangeSync {
    private let connection: RedisConnection
    private let unanswered = Unanswered()
    /// Begins the name of each of our changes; no other process has it.
    private let process = String(UInt64.random(in: .min ... .max), radix: 36)
    private var begun = 0
    private var underWay = 0
    private var isRelaxing = false
    private var isWanted = false

    /// Longer than any change may take; what a process that died has noted ends with it.
    private static let mostMilliseconds = 30_000

    init(connection: RedisConnection) {
        self.connection = connection
    }

    /// A change is about to be sent; returns its name when Redis will sync before it answers.
    func begin(within deadline: Duration) async throws(StoreError) -> String {
        begun += 1
        underWay += 1
        let name = "\(process)-\(begun)"
        do throws(StoreError) {
            _ = try await connection.evaluate(
                RegistryScripts.beginChange,
                keys: [.text(RegistryScripts.tag)],
                arguments: [.text(name), .number(Self.mostMilliseconds)],
                deadline: deadline
            )
            _ = try await connection.call(["CONFIG", "SET", "appendfsync", "always"], deadline: deadline)
            return name
        } catch {
            end(name)
            throw error
        }
    }

    /// A change was answered, or will not be.
    func end(_ name: String) {
        underWay -= 1
        _ = connection.send(receiver: unanswered, token: 0) { buffer in
            buffer.command(["ZREM", RegistryScripts.underWay, name])
        }
        relax()
    }

    /// Goes back to a sync a second unless a change is under way somewhere.
    func relax() {
        isWanted = true
        guard underWay == 0, !isRelaxing else { return }
        isRelaxing = true
        Task { @Reactor in
            do throws(StoreError) {
                while isWanted, underWay == 0 {
                    isWanted = false
                    try await relaxUnlessNoted()
                }
            } catch {
                // Every write stays synced until the next change ends.
            }
            isRelaxing = false
        }
    }

    private func relaxUnlessNoted() async throws(StoreError) {
        let generation = connection.generation
        _ = try await connection.call(["WATCH", .text(RegistryScripts.underWay)])
        let noted = try await connection.evaluate(
            RegistryScripts.changesUnderWay,
            keys: [.text(RegistryScripts.tag)],
            arguments: []
        )
        // Another connection watches nothing.
        guard noted.integer == 0, connection.generation == generation else {
            _ = try await connection.call(["UNWATCH"])
            return
        }
        // They leave at once: what others send over this connection stays out of the transaction.
        _ = connection.send(receiver: unanswered, token: 0) { $0.command(["MULTI"]) }
        _ = connection.send(receiver: unanswered, token: 0) { buffer in
            buffer.command(["CONFIG", "SET", "appendfsync", "everysec"])
        }
        _ = connection.send(receiver: unanswered, token: 0) { $0.command(["EXEC"]) }
    }
}

extension ByteBuffer {
    fileprivate mutating func command(_ words: [String]) {
        beginCommand(arguments: words.count)
        for word in words { appendArgument(utf8: word) }
    }
}

/// Takes an answer that changes nothing: where the switch back fails, every write stays synced.
@Reactor
private final class Unanswered: RedisReplyReceiver {
    func replied(_ reply: RedisReplyTape, token: Int) {}

    func failed(_ error: StoreError, token: Int) {}
}
