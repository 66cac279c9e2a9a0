// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Transport

extension UpstreamPool {
    /// A stream that will connect to `endpoint` at `address`, whatever is spoken over it then.
    func stream(to endpoint: UpstreamEndpoint, at address: SocketAddress, tls: TLSClientContext?) -> ByteStream {
        ByteStream(
            loop: loop,
            connectingTo: address,
            tls: tls,
            serverName: settings.tls.serverName ?? endpoint.settings.host ?? "",
            limits: streamLimits
        )
    }
}

extension StreamLimits {
    /// Who connects to an upstream waits for as long as its request may, TLS included, and no stream decides otherwise.
    convenience init(ofUpstreams heads: ParserLimits) {
        self.init()
        connectDeadline = .seconds(86_400)
        handshakeDeadline = .seconds(86_400)
        inboundHighWater = max(inboundHighWater, heads.mostHead)
    }
}
