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

    /// Asks `source` whether it is to be closed when that could be done at once, at the end of this turn at the earliest.
    func closeInTurn(_ source: EventSource) { closing.append(source) }

    /// Closes without waiting for a turn: one that waited for it already.
    func closeNow(_ source: EventSource) {
        deregister(source)
        Glibc.close(source.descriptor)
        source.descriptor = -1
    }

    /// Closes some of those that wait.
    func closeSome() {
        let end = closing.end()
        repeat {
            guard let source = closing.popFirst() else { return }
            if source.isRegistered {
                source.closingTurnCame()
            } else if source.descriptor >= 0 {
                // Who waited twice is gone by the second time.
                forget(source)
                Glibc.close(source.descriptor)
                source.descriptor = -1
            }
        } while MonotonicInstant.readClock().nanoseconds < end
    }
}
