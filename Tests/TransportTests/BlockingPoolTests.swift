// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Testing
import Transport

@Suite struct BlockingPoolTests {
    let loop = LoopThread.loop

    @Test @Reactor func `work runs beside the loop and comes back to it`() async throws {
        let pool = BlockingPool(threads: 2)
        async let slow = pool.run { () -> Bool in
            usleep(50_000)
            return Reactor.isCurrent
        }
        let quick = await pool.run { 7 }
        #expect(quick == 7)
        #expect(await !slow)
        #expect(Reactor.isCurrent)
    }

    @Test @Reactor func `work has less of a processor than the loop`() async throws {
        let own = getpriority(CInt(PRIO_PROCESS.rawValue), 0)
        let background = await BlockingPool(threads: 1).run { getpriority(CInt(PRIO_PROCESS.rawValue), 0) }
        #expect(background == min(19, own + 10))
    }

    @Test @Reactor func `failures keep their type`() async throws {
        let pool = BlockingPool(threads: 1)
        await #expect(throws: SystemError(ENOENT)) {
            try await pool.run { () throws(SystemError) -> Int in throw SystemError(ENOENT) }
        }
    }

    @Test @Reactor func `more work than threads is all done`() async throws {
        let pool = BlockingPool(threads: 3)
        var sum = 0
        for batch in 0..<20 {
            async let one = pool.run { batch }
            async let two = pool.run { batch }
            sum += await one + two
        }
        #expect(sum == 380)
    }

    @Test func `work is done where no thread can be had`() async {
        await #expect(processExitsWith: .success) {
            // No room for a thread's stack.
            let file = unsafe open("/proc/self/statm", O_RDONLY)
            var text = [UInt8](repeating: 0, count: 32)
            _ = unsafe read(file, &text, text.count)
            let pages = Int(String(decoding: text.prefix { 48...57 ~= $0 }, as: UTF8.self)) ?? 0
            var limit = rlimit()
            limit.rlim_cur = rlim_t(pages * sysconf(CInt(_SC_PAGESIZE)) + (6 << 20))
            limit.rlim_max = limit.rlim_cur
            guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0 else { exit(4) }
            let pool = BlockingPool(threads: 2)
            var sum = 0
            for number in 1...3 { sum += await pool.run { number } }
            exit(sum == 6 ? 0 : 5)
        }
    }

    @Test @Reactor func `names and written addresses resolve`() async throws {
        let resolver = Resolver(loop: loop, pool: BlockingPool(threads: 1))
        let local = try await resolver.resolve("localhost", port: 80)
        #expect(!local.isEmpty && local.allSatisfy { ["127.0.0.1:80", "[::1]:80"].contains($0.description) })
        #expect(try await resolver.resolve("::1", port: 1).map(\.description) == ["[::1]:1"])
    }

    @Test @Reactor func `a name that cannot be is unknown`() async throws {
        let resolver = Resolver(loop: loop, pool: BlockingPool(threads: 1))
        for name in ["", "a\0b"] {
            await #expect(throws: ResolutionFailure.unknownName) { try await resolver.resolve(name, port: 1) }
        }
    }
}
