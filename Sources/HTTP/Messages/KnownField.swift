// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// A field name the gateway judges, strips, rewrites or frames by.
///
/// Names not listed are `.other` and pass as they came. Two ids are classes, not names: `.gatewayPrefixed` is every
/// name that begins with `sallyport-`, and `.underscoreAlias` is a name that reads as a judged one once `_` is mapped
/// to `-`, as CGI-like back ends do (`Content_Length`, `X_App_Id`).
@usableFromInline
package enum KnownField: UInt8, CaseIterable, BitwiseCopyable, Sendable {
    case other
    case gatewayPrefixed, underscoreAlias
    // Framing and connection.
    case host, contentLength, transferEncoding, connection, keepAlive, proxyConnection, upgrade, expect, te, trailer
    case http2Settings, proxyAuthenticate, proxyAuthorization, proxyAuthenticationInfo
    // Credentials and what names an app.
    case authorization, origin, cookie, xAppID, xAPIKey, orgID, appID, xClientAuthorization
    // Hops.
    case forwarded, xForwardedFor, xForwardedProto, xForwardedHost, xForwardedPort, xRealIP, via, xRequestID
    case traceparent, tracestate
    // Content.
    case contentType, contentEncoding, contentRange, accept, acceptEncoding, userAgent, range, referer, maxForwards
    // CORS.
    case accessControlRequestMethod, accessControlRequestHeaders, accessControlRequestPrivateNetwork
    case accessControlAllowOrigin, accessControlAllowCredentials, accessControlAllowMethods
    case accessControlAllowHeaders, accessControlAllowPrivateNetwork, accessControlExposeHeaders, accessControlMaxAge
    // WebSocket.
    case secWebSocketKey, secWebSocketVersion, secWebSocketProtocol, secWebSocketAccept, secWebSocketExtensions
    // Answers.
    case date, server, vary, location, setCookie, cacheControl, wwwAuthenticate, retryAfter, rateLimit
    case rateLimitPolicy, proxyStatus, altSvc, grpcStatus, grpcMessage, grpcTimeout

    /// The name as the field's specification spells it; empty for the three classes.
    package var canonicalName: StaticString {
        switch self {
        case .other, .gatewayPrefixed, .underscoreAlias: ""
        case .host: "Host"
        case .contentLength: "Content-Length"
        case .transferEncoding: "Transfer-Encoding"
        case .connection: "Connection"
        case .keepAlive: "Keep-Alive"
        case .proxyConnection: "Proxy-Connection"
        case .upgrade: "Upgrade"
        case .expect: "Expect"
        case .te: "TE"
        case .trailer: "Trailer"
        case .http2Settings: "HTTP2-Settings"
        case .proxyAuthenticate: "Proxy-Authenticate"
        case .proxyAuthorization: "Proxy-Authorization"
        case .proxyAuthenticationInfo: "Proxy-Authentication-Info"
        case .authorization: "Authorization"
        case .origin: "Origin"
        case .cookie: "Cookie"
        case .xAppID: "X-App-Id"
        case .xAPIKey: "X-Api-Key"
        case .orgID: "orgid"
        case .appID: "appId"
        case .xClientAuthorization: "X-Client-Authorization"
        case .forwarded: "Forwarded"
        case .xForwardedFor: "X-Forwarded-For"
        case .xForwardedProto: "X-Forwarded-Proto"
        case .xForwardedHost: "X-Forwarded-Host"
        case .xForwardedPort: "X-Forwarded-Port"
        case .xRealIP: "X-Real-IP"
        case .via: "Via"
        case .xRequestID: "X-Request-Id"
        case .traceparent: "traceparent"
        case .tracestate: "tracestate"
        case .contentType: "Content-Type"
        case .contentEncoding: "Content-Encoding"
        case .contentRange: "Content-Range"
        case .accept: "Accept"
        case .acceptEncoding: "Accept-Encoding"
        case .userAgent: "User-Agent"
        case .range: "Range"
        case .referer: "Referer"
        case .maxForwards: "Max-Forwards"
        case .accessControlRequestMethod: "Access-Control-Request-Method"
        case .accessControlRequestHeaders: "Access-Control-Request-Headers"
        case .accessControlRequestPrivateNetwork: "Access-Control-Request-Private-Network"
        case .accessControlAllowOrigin: "Access-Control-Allow-Origin"
        case .accessControlAllowCredentials: "Access-Control-Allow-Credentials"
        case .accessControlAllowMethods: "Access-Control-Allow-Methods"
        case .accessControlAllowHeaders: "Access-Control-Allow-Headers"
        case .accessControlAllowPrivateNetwork: "Access-Control-Allow-Private-Network"
        case .accessControlExposeHeaders: "Access-Control-Expose-Headers"
        case .accessControlMaxAge: "Access-Control-Max-Age"
        case .secWebSocketKey: "Sec-WebSocket-Key"
        case .secWebSocketVersion: "Sec-WebSocket-Version"
        case .secWebSocketProtocol: "Sec-WebSocket-Protocol"
        case .secWebSocketAccept: "Sec-WebSocket-Accept"
        case .secWebSocketExtensions: "Sec-WebSocket-Extensions"
        case .date: "Date"
        case .server: "Server"
        case .vary: "Vary"
        case .location: "Location"
        case .setCookie: "Set-Cookie"
        case .cacheControl: "Cache-Control"
        case .wwwAuthenticate: "WWW-Authenticate"
        case .retryAfter: "Retry-After"
        case .rateLimit: "RateLimit"
        case .rateLimitPolicy: "RateLimit-Policy"
        case .proxyStatus: "Proxy-Status"
        case .altSvc: "Alt-Svc"
        case .grpcStatus: "grpc-status"
        case .grpcMessage: "grpc-message"
        case .grpcTimeout: "grpc-timeout"
        }
    }
}
