// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// Starts children: the same binary again, with an order in its environment.
enum ChildProcess {
    /// Spawns `order`'s child with the descriptors that the order names; returns its process id.
    static func spawn(_ order: ChildOrder, environment: [String: String]) throws(ProcessFault) -> pid_t {
        var environment = environment
        environment[ChildOrder.variable] = order.text
        if order.role != .redis, environment["SWIFT_BACKTRACE"] == nil {
            environment["SWIFT_BACKTRACE"] = backtraceSettings()
        }
        var kept = [order.channel]
        for listener in order.listeners { kept += listener.descriptors }
        kept += [order.admin, order.adminNetwork, order.metrics].compactMap(\.self)
        return try spawn(
            name: "sallyport: \(order.role.name)",
            environment: environment.map { "\($0.key)=\($0.value)" },
            keeping: kept
        )
    }

    /// `/proc/self/exe` is this very binary, even when another was put in its place since.
    private static func spawn(
        name: String,
        environment: [String],
        keeping descriptors: [CInt]
    ) throws(ProcessFault) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for descriptor in descriptors {
            // Onto itself: the child's copy loses close-on-exec, ours keeps it.
            unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, descriptor)
        }
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        for number in SignalPipe.watched + [SIGPIPE] { unsafe sigaddset(&signals, number) }
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var arguments: [UnsafeMutablePointer<CChar>?] = unsafe [strdup(name), nil]
        var variables: [UnsafeMutablePointer<CChar>?] = unsafe environment.map { unsafe strdup($0) } + [nil]
        defer {
            let texts = unsafe arguments + variables
            for index in unsafe texts.indices { unsafe free(texts[index]) }
        }
        var child: pid_t = 0
        let code = unsafe posix_spawn(&child, "/proc/self/exe", &actions, &attributes, &arguments, &variables)
        guard code == 0 else { throw ProcessFault(doing: "start a child", errno: code) }
        return child
    }

    // MARK: Crash reports

    /// Why a child that traps or hangs will not say where; nil: it will.
    static func lackOfReports(_ environment: [String: String]) -> String? {
        guard environment["SWIFT_BACKTRACE"] == nil, backtracer() == nil else { return nil }
        return "swift-backtrace-static is not there: put it beside the binary, or into /usr/lib/sallyport"
    }

    /// The program that writes where a child trapped, when it is installed.
    private static func backtracer() -> String? {
        var places = ["/usr/libexec/swift/linux/swift-backtrace-static", "/usr/lib/sallyport/swift-backtrace-static"]
        if let own = executablePath(), let slash = own.lastIndex(of: "/") {
            places.insert(own[..<slash] + "/swift-backtrace-static", at: 0)
        }
        return places.first { unsafe access($0, X_OK) == 0 }
    }

    /// What crash reports show: no registers, because a dump of them shows memory and so secrets.
    ///
    /// Without the program nothing is written; the runtime would complain about that in every child.
    private static func backtraceSettings() -> String {
        guard let backtracer = backtracer() else { return "enable=no" }
        return "enable=yes,interactive=no,color=no,threads=crashed,images=none,registers=none,sanitize=yes,limit=32,"
            + "swift-backtrace=\(backtracer)"
    }

    private static func executablePath() -> String? {
        var bytes = [CChar](repeating: 0, count: 4096)
        let count = unsafe readlink("/proc/self/exe", &bytes, bytes.count)
        guard count > 0 else { return nil }
        return String(decoding: bytes[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
