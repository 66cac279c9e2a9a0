// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP

extension RequestHead {
    /// The request line, `Host` and the fields that pass.
    func appendStart(
        host: [UInt8]?,
        path: [UInt8]?,
        skipping withheld: KnownFieldSet,
        to buffer: inout ByteBuffer
    ) {
        if let path {
            let rewritten = target(withPath: path)
            let name = host ?? Array(authorityText.utf8)
            HeadWriter.appendRequest(self, target: rewritten.span, host: name.span, skipping: withheld, to: &buffer)
        } else if let host {
            HeadWriter.appendRequest(self, target: target, host: host.span, skipping: withheld, to: &buffer)
        } else {
            HeadWriter.appendRequest(self, target: target, host: authority, skipping: withheld, to: &buffer)
        }
    }

    /// Opens an HTTP/2 stream with this head.
    func begin(
        host: [UInt8]?,
        path: [UInt8]?,
        isSecure: Bool,
        skipping withheld: KnownFieldSet,
        adding lines: Span<UInt8>,
        on session: HTTP2Session
    ) -> HTTP2Stream? {
        let scheme: StaticString = isSecure ? "https" : "http"
        let hasBody = framing.hasBody
        if path == nil, host == nil {
            return session.request(
                self,
                scheme: scheme,
                authority: authority,
                target: target,
                skipping: withheld,
                adding: lines,
                hasBody: hasBody
            )
        }
        let name = host ?? Array(authorityText.utf8)
        let target = path.map { self.target(withPath: $0) } ?? Array(targetText.utf8)
        return session.request(
            self,
            scheme: scheme,
            authority: name.span,
            target: target.span,
            skipping: withheld,
            adding: lines,
            hasBody: hasBody
        )
    }

    /// `path` and the query as it came.
    private func target(withPath path: [UInt8]) -> [UInt8] {
        var target = path
        if let query {
            target.append(UInt8(ascii: "?"))
            for index in query.indices { target.append(query[index]) }
        }
        return target
    }
}
