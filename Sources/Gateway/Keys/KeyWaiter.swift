// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

/// Somebody who waits for other keys of an issuer.
@Reactor
final class KeyWaiter {
    let issuer: String
    let reply: ReplyWaiter<Bool>

    init(issuer: String, loop: EventLoop) {
        self.issuer = issuer
        reply = ReplyWaiter(loop: loop)
    }
}
