// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

extension EventLoop {
    /// Stops watching `source` and closes its descriptor, soon where many are closed at once; it hears nothing more.
    func close(_ source: EventSource) {
        guard !source.isRegistered || closing.takesOne() else {
            source.markRegistered(false)
            return closing.append(source)
        }
        deregister(source)
        Glibc.close(source.descriptor)
        source.descriptor = -1
    }

    /// Closes some of those that wait.
    func closeSome() {
        let end = closing.end()
        repeat {
            guard let source = closing.popFirst() else { return }
            forget(source)
            Glibc.close(source.descriptor)
            source.descriptor = -1
        } while MonotonicInstant.readClock().nanoseconds < end
    }
}
