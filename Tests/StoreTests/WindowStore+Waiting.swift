// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Limits
import Transport

@testable import Store

extension WindowStore {
    /// Spends the windows of `charge` and waits for its verdicts.
    func spend(_ charge: WindowCharge) async throws(StoreError) {
        let waiter = WindowWaiter()
        guard spend(charge, receiver: waiter, token: 0) else { throw .unavailable }
        if let failure = await waiter.answer() { throw failure }
    }
}

/// Turns the callback into a wait.
@Reactor
private final class WindowWaiter: WindowReceiver {
    private var caller: ParkedCaller<StoreError?>?
    private var result: StoreError??

    func answer() async -> StoreError? {
        if let result { return result }
        return await ParkedCaller.park { caller = $0 }
    }

    func windowsAnswered(_ charge: WindowCharge, failure: StoreError?, token: Int) {
        if let caller {
            caller.resume(returning: failure)
        } else {
            result = .some(failure)
        }
    }
}
