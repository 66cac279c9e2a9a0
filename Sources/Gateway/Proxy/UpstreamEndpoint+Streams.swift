// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

extension UpstreamEndpoint {
    /// The oldest HTTP/2 connection that takes one more request: younger ones empty first and go.
    var streamedWithRoom: HTTP2Upstream? { streamed.first { $0.hasRoom } }

    /// One of which nothing says that it was there before another was lost: nobody was answered on it yet.
    var freshStreamed: HTTP2Upstream? { streamed.first { $0.hasRoom && !$0.hasAnswered } }

    /// The HTTP/2 connections that carry nothing.
    var idleStreamed: Int { streamed.count { $0.isIdle } }

    func opened(_ connection: HTTP2Upstream) {
        connectionOpened()
        streamed.append(connection)
    }

    func closed(_ connection: HTTP2Upstream) {
        guard let index = streamed.firstIndex(where: { $0 === connection }) else { return }
        streamed.remove(at: index)
        connectionGone()
    }

    /// The exchange no longer waits for a connect.
    func withdraw(_ exchange: Exchange) {
        for connection in streamed { connection.withdraw(exchange) }
    }
}
