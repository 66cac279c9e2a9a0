// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import CLinux
import Glibc

/// How to start a child: program, arguments, environment and which descriptor it gets under which number.
package struct ChildCommand: Sendable {
    package var executable: String
    /// All arguments, the first being the name the child sees.
    package var arguments: [String]
    /// `NAME=value` each; nothing is inherited.
    package var environment: [String]
    /// Descriptors to pass, by the number they get in the child; 0 to 2 are inherited, all above the highest are closed.
    package var descriptors: [(target: CInt, source: CInt)] = []
    /// Signals that get their default action in the child.
    package var defaultSignals: [CInt] = [SIGPIPE, SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGUSR1, SIGUSR2, SIGQUIT]

    package init(executable: String, arguments: [String], environment: [String]) {
        self.executable = executable
        self.arguments = arguments
        self.environment = environment
    }

    /// Starts the child with an empty signal mask; returns its process id.
    package func spawn() throws(SystemError) -> CInt {
        var moved: [(target: CInt, source: CInt)] = []
        defer { for entry in moved { close(entry.source) } }
        for (target, source) in descriptors {
            // Out of the way of every target: dup2 in the child must not overwrite a source.
            let high = fcntl(source, F_DUPFD_CLOEXEC, 100)
            guard high >= 0 else { throw SystemError(errno) }
            moved.append((target, high))
        }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for (target, source) in moved { unsafe posix_spawn_file_actions_adddup2(&actions, source, target) }
        // Whatever a library or our own parent left open does not reach the child.
        unsafe sp_spawn_close_from(&actions, max(2, descriptors.map(\.target).max() ?? 2) + 1)
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var mask = SignalSet([]).mask
        var defaults = SignalSet(defaultSignals).mask
        unsafe posix_spawnattr_setsigmask(&attributes, &mask)
        unsafe posix_spawnattr_setsigdefault(&attributes, &defaults)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var child: CInt = 0
        let result = unsafe withCStrings(arguments) { arguments in
            unsafe withCStrings(environment) { environment in
                unsafe posix_spawn(&child, executable, &actions, &attributes, arguments, environment)
            }
        }
        guard result == 0 else { throw SystemError(result) }
        return child
    }
}

/// Lends `strings` as a null-terminated array of C strings.
private func withCStrings<T>(
    _ strings: [String],
    _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> T
) -> T {
    var pointers: [UnsafeMutablePointer<CChar>?] = unsafe strings.map { unsafe strdup($0) }
    unsafe pointers.append(nil)
    defer { unsafe pointers.forEach { unsafe free($0) } }
    return unsafe pointers.withUnsafeMutableBufferPointer { unsafe body($0.baseAddress.unsafelyUnwrapped) }
}

/// What the operating system knows about this process.
package enum ThisProcess {
    /// Asks the kernel to send `signal` when the parent dies.
    package static func dieWithParent(_ signal: CInt = SIGTERM) {
        sp_prctl_set_parent_death_signal(signal)
    }

    /// Gives free heap memory back to the system; 3-7 ms, for a timer after many connections closed.
    package static func trimHeap() {
        sp_malloc_trim(0)
    }
}
