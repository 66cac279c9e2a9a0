// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import CLinux
import Glibc

/// Signals as events of the loop.
@Reactor
package final class SignalSource: EventSource {
    private var onSignal: (@Reactor (CInt) -> Void)?

    /// Blocks `signals` for this thread and reports each that arrives; threads started later inherit the mask.
    package init(loop: EventLoop, signals: [CInt]) throws(SystemError) {
        var mask = SignalSet(signals).mask
        unsafe pthread_sigmask(SIG_BLOCK, &mask, nil)
        let descriptor = unsafe signalfd(-1, &mask, CInt(SFD_NONBLOCK) | CInt(SFD_CLOEXEC))
        guard descriptor >= 0 else { throw SystemError(errno) }
        super.init(loop: loop, descriptor: descriptor)
    }

    /// Begins to report.
    package func start(_ onSignal: @escaping @Reactor (CInt) -> Void) throws(SystemError) {
        self.onSignal = onSignal
        try loop.register(self, edgeTriggered: false)
    }

    /// Ends reporting; the signals stay blocked.
    package func stop() {
        loop.deregister(self)
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
        onSignal = nil
    }

    override func ready(_ readiness: Readiness) {
        var record = signalfd_siginfo()
        let size = MemoryLayout<signalfd_siginfo>.size
        while isRegistered, unsafe Glibc.read(descriptor, &record, size) == size {
            onSignal?(CInt(record.ssi_signo))
        }
    }
}

/// A set of signals as the kernel wants it.
package struct SignalSet: Sendable {
    package let signals: [CInt]

    package init(_ signals: [CInt]) {
        self.signals = signals
    }

    var mask: sigset_t {
        var mask = sigset_t()
        unsafe sigemptyset(&mask)
        for signal in signals { unsafe sigaddset(&mask, signal) }
        return mask
    }
}
