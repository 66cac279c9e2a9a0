// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import CLinux
import Glibc

/// Which descriptors the loop watches.
extension EventLoop {
    /// Watches `source` edge-triggered for everything; never to be called twice for one source.
    func register(_ source: EventSource, edgeTriggered: Bool = true) throws(SystemError) {
        var interest = UInt32(EPOLLIN.rawValue)
        if edgeTriggered {
            interest |= UInt32(EPOLLOUT.rawValue) | UInt32(EPOLLRDHUP.rawValue) | UInt32(EPOLLET.rawValue)
        }
        try control(EPOLL_CTL_ADD, source, interest)
        // Balanced in `deregister`.
        _ = unsafe Unmanaged.passRetained(source)
        source.markRegistered(true)
    }

    /// Pauses or continues a level-triggered source.
    func setInterest(of source: EventSource, isOn: Bool) {
        do {
            try control(EPOLL_CTL_MOD, source, isOn ? UInt32(EPOLLIN.rawValue) : 0)
        } catch {
            preconditionFailure("a registered source has no epoll entry")
        }
    }

    /// Stops watching; the caller closes the descriptor next or keeps it.
    ///
    /// The source is freed when the turn ends. Closing alone would not do: a child between fork and exec still holds
    /// the socket, and epoll would go on reporting it under a dead pointer.
    func deregister(_ source: EventSource) {
        guard source.isRegistered else { return }
        source.markRegistered(false)
        forget(source)
    }

    /// Takes `source`, which hears nothing any more, out of epoll.
    func forget(_ source: EventSource) {
        var event = unsafe epoll_event()
        unsafe epoll_ctl(epoll, EPOLL_CTL_DEL, source.descriptor, &event)
        graveyard.append(source)
        unsafe Unmanaged.passUnretained(source).release()
    }

    private func control(_ operation: CInt, _ source: EventSource, _ interest: UInt32) throws(SystemError) {
        var event = unsafe epoll_event()
        unsafe event.events = interest
        unsafe event.data.ptr = Unmanaged.passUnretained(source).toOpaque()
        guard unsafe epoll_ctl(epoll, operation, source.descriptor, &event) == 0 else {
            throw SystemError(errno)
        }
    }
}
