// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

extension KeyringKeeper {
    /// Whether it is known what our own keys are, or why there are none.
    var isSettled: Bool { own != nil || problem != nil }

    /// Waits until the keys were read, and the first of all were made: only just after the start,
    /// while Redis is on its way.
    func becomeUsable() async {
        while !isSettled, loop.now < youngUntil {
            do throws(CancellationError) {
                try await loop.sleep(for: .milliseconds(5))
            } catch {
                return
            }
        }
    }
}
