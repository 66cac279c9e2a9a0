// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Calls back once at the end of a turn, however often it was enlisted in it.
@Reactor
package final class TurnEnd: EventSource {
    /// What happens then; may be set later, for owners whose own making comes first.
    package var onEnd: (@Reactor () -> Void)?

    package init(loop: EventLoop, onEnd: (@Reactor () -> Void)? = nil) {
        self.onEnd = onEnd
        super.init(loop: loop, descriptor: -1)
    }

    /// Asks for the call.
    @inline(__always)
    package func enlist() { loop.atEndOfTurn(self) }

    override func turnEnded() { onEnd?() }
}
