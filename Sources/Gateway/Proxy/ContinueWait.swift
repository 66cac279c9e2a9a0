// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Transport

/// A client waits for `100 Continue` and the upstream has not said it: after a second the gateway does.
///
/// Many servers never answer an `Expect` and wait for the body; a client that waits for them would wait for ever
/// (RFC 9110 10.1.1 lets a proxy answer itself). The request has been judged by then. Isolated to the Reactor, owned by
/// its exchange.
@Reactor
final class ContinueWait {
    /// What curl waits before it sends its body unasked.
    private static let patience = Duration.seconds(1)

    private let timer: LoopTimer
    /// The client has been told to go on: a later `100` of the upstream is not news.
    var wasSaid = false

    init(loop: EventLoop, onFire: @escaping @Reactor () -> Void) {
        timer = LoopTimer(loop: loop)
        timer.onFire = onFire
        timer.arm(after: Self.patience)
    }

    /// Somebody has said something: there is nothing left to wait for.
    func end() { timer.cancel() }
}

extension Exchange {
    /// The head is on its way: from now on the client waits for the upstream's word.
    func beginContinueWait() {
        guard request.expectsContinue, !requestIsComplete, !isGathering, facts.bytesIn == 0, continueWait == nil else {
            return
        }
        continueWait = ContinueWait(loop: worker.loop) { [unowned self] in continueOurselves() }
    }

    private func continueOurselves() {
        guard stage == .sending || stage == .leasing, !requestIsComplete, let client else { return }
        continueWait?.wasSaid = true
        client.sendContinue()
    }

    /// Whether the interim answer in `response` is the word the client waited for, and has had already.
    func isContinueRepeated() -> Bool {
        guard response.status == 100, let continueWait else { return false }
        continueWait.end()
        defer { continueWait.wasSaid = true }
        return continueWait.wasSaid
    }
}
