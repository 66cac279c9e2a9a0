// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

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
