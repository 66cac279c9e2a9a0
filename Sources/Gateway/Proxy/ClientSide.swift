// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Transport

/// The side of an exchange that faces the client: an HTTP/1.1 connection or one stream of an HTTP/2 connection.
///
/// All calls come from the exchange that is under way; after `sendEnd`, `sendLocal`, `endShort` or `abort` no other
/// follows.
@Reactor
protocol ClientSide: AnyObject {
    /// Whether more bytes wait to be sent than should: the exchange then stops reading from the upstream.
    var isCongested: Bool { get }
    /// The exchange takes body bytes now, by `requestBodyReceived` and `requestBodyEnded`,
    /// possibly before this returns.
    func readBody()
    /// The exchange takes no more body bytes for the moment.
    func pauseBody()
    /// Tells a client that waits for it to send its body (RFC 9110 10.1.1).
    func sendContinue()
    /// Relays the interim answer in `exchange.response`.
    func sendInterim(_ exchange: Exchange)
    /// Relays the head in `exchange.response` with the exchange's edits; the body's framing is this side's own.
    func sendHead(_ exchange: Exchange)
    /// Relays part of the answer's body.
    func sendBody(_ bytes: Span<UInt8>)
    /// The answer is complete.
    func sendEnd(_ exchange: Exchange, trailers: borrowing FieldTable)
    /// Answers in the upstream's place: a refusal, a preflight, a redirect.
    func sendLocal(_ answer: LocalAnswer, for exchange: Exchange)
    /// Passes bytes on as they are after a switch of protocols.
    func sendRelayed(_ bytes: Span<UInt8>)
    /// The upstream's side of a relay has ended: what it sent still goes out, and the client may still send.
    func finishRelay()
    /// A relay is over: what was passed on goes out, then the connection or stream ends.
    func endRelay()
    /// The answer ends before it is whole: what came of it goes out, and the client must not take that for the whole.
    func endShort()
    /// Gives the answer up half-way: the client must not take what it has for the whole.
    func abort()
}

extension ClientSide {
    /// Only HTTP/1.1 switches protocols.
    func finishRelay() {}
}
