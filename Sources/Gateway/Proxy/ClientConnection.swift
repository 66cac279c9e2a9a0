// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

/// A connection of a client, whatever protocol it speaks, as its worker sees it.
@Reactor
protocol ClientConnection: AnyObject {
    /// What is known of it; another object where a reload decides otherwise, so that requests under way keep theirs.
    var facts: ClientConnectionFacts { get set }
    /// Ends after the exchanges under way and the requests that were sent before the client could know.
    func drain()
    /// The time to drain has passed: what is under way is told and ended.
    func goAway()
    /// Ends at once, whatever is under way: the time for saying goodbye is over too.
    ///
    /// What is ended by `end` has its line in the access log.
    func cut(by end: MonotonicInstant)
    /// Ends a connection that waits for a request and owes nothing, unless one is there already; false where it does not.
    func closeIfIdle() -> Bool
    /// A new configuration is in force; what it says of the connection itself may ask for a new one.
    func configurationChanged()
}

extension ClientConnection {
    func closeIfIdle() -> Bool { false }

    /// A handshake owes nobody a word.
    func goAway() {}

    /// Heads are read by the limits of the connection's beginning until it ends; requests are judged by the new set.
    func configurationChanged() {}
}
