// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Store
import Telemetry
import Transport

/// The child that becomes the embedded `redis-server`.
enum RedisProcess {
    /// Takes the folder's lock, then turns into Redis; returns only by throwing.
    static func become(_ order: ChildOrder, environment: [String: String]) throws(ProcessFault) -> Never {
        let paths = StatePaths(directory: order.stateDirectory)
        let redis = try prepared(paths)
        guard let program = EmbeddedRedis.executable(searching: environment["PATH"] ?? "") else {
            throw ProcessFault(
                "redis-server is not installed",
                nextSteps: ["apt-get install redis-server", "or name another Redis: state.redis: redis://…"]
            )
        }
        // A Redis whose supervisor was killed may still be ending; two on one file would damage it. The lock is kept
        // across exec and ends with the process.
        try lock("\(paths.redis)/lock")
        ThisProcess.dieWithParent(SIGKILL)
        guard getppid() == order.supervisor else { throw ProcessFault("the supervisor has gone") }
        umask(0o077)
        // Redis logs to its standard output; ours may be the access log.
        dup2(StandardError.descriptor, STDOUT_FILENO)
        ProcessChannel(descriptor: order.channel).send(.serving)
        close(order.channel)
        for number in [SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGPIPE] { signal(number, SIG_DFL) }
        var arguments: [UnsafeMutablePointer<CChar>?] = unsafe redis.arguments.map { unsafe strdup($0) }
        unsafe arguments.append(nil)
        unsafe execv(program, &arguments)
        throw ProcessFault(doing: "start \(program)", errno: errno)
    }

    /// Makes the folder and the configuration, as the user that Redis will run as.
    static func prepare(_ paths: StatePaths, owner: Account?) throws(ProcessFault) {
        let redis: EmbeddedRedis
        do {
            redis = try EmbeddedRedis(preparing: paths.redis)
        } catch {
            throw ProcessFault("the embedded Redis: \(error.description)")
        }
        guard let owner else { return }
        for path in [paths.redis, redis.configurationPath, "\(paths.redis)/password"] {
            guard unsafe chown(path, owner.user, owner.group) == 0 else {
                throw ProcessFault(doing: "give \(path) to \(owner.name)", errno: errno)
            }
        }
    }

    /// What was prepared.
    static func prepared(_ paths: StatePaths) throws(ProcessFault) -> EmbeddedRedis {
        do {
            return try EmbeddedRedis(reading: paths.redis)
        } catch {
            throw ProcessFault("the embedded Redis: \(error.description)")
        }
    }

    private static func lock(_ path: String) throws(ProcessFault) {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw ProcessFault(doing: "open \(path)", errno: errno) }
        for _ in 0..<500 {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return }
            usleep(10_000)
        }
        throw ProcessFault("another Redis uses \(path)", nextSteps: ["end it, then start again"])
    }
}
