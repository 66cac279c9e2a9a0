// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Transport

/// The side of an exchange that faces the upstream: an HTTP/1.1 connection or one stream of an HTTP/2 connection.
///
/// All calls come from the exchange that is under way; after `release`, `abandon` or `endRelay` no other follows. What
/// happens is told by `upstreamReady`, `interimArrived`, `responseHeadArrived`, `responseBodyArrived`, `responseEnded`
/// and `upstreamFailed` of the exchange.
@Reactor
protocol UpstreamSide: AnyObject {
    var endpoint: UpstreamEndpoint { get }
    /// Whether the peer can say that it did nothing about a request, so that even one with a body may be sent again.
    var canRefuseUnprocessed: Bool { get }
    /// Whether more bytes wait to be sent than should: the exchange then stops reading from its client.
    var isCongested: Bool { get }
    /// Sends the head of the exchange's request.
    func sendHead(_ exchange: Exchange)
    /// Sends part of the request's body.
    func sendBody(_ bytes: Span<UInt8>)
    /// The request's body is complete.
    func endBody(_ exchange: Exchange, trailers: borrowing FieldTable)
    /// Sends bytes as they are after a switch of protocols.
    func sendRelayed(_ bytes: Span<UInt8>)
    /// Takes no more of the answer for the moment.
    func pauseReading()
    func resumeReading()
    /// The exchange is over and the answer was read whole.
    func release()
    /// The exchange has no more use for the answer.
    func abandon()
    /// The client's side of a relay has ended: what it sent still goes out, and the upstream may still send.
    func finishRelay()
    /// Both sides of a relay have ended, or the client is gone: what it sent still goes out.
    func endRelay()
}
