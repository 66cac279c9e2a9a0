// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// A field name the gateway judges, strips, rewrites or frames by.
///
/// Names not listed are `.other` and pass as they came. Three ids are classes, not names: `.gatewayPrefixed` is every
/// name that begins with `sallyport-`, `.forwardedPrefixed` every other one that begins with `x-forwarded-`, and
/// `.alias` a name that reads as a judged one once all but letters and digits is mapped to `-`, as CGI-like back ends
/// do (`Content_Length`, `X.App.Id`).
@usableFromInline
package enum KnownField: UInt8, CaseIterable, BitwiseCopyable, Sendable {
    case other
    case gatewayPrefixed, forwardedPrefixed, alias
    // Framing and connection.
    case host, contentLength, transferEncoding, connection, keepAlive, proxyConnection, upgrade, expect, te, trailer
    case http2Settings, proxyAuthenticate, proxyAuthorization, proxyAuthenticationInfo
    // Credentials and what names an app.
    case authorization, origin, cookie, xAppID, xAPIKey, orgID, appID, xClientAuthorization
    // Hops.
    case forwarded, xForwardedFor, xForwardedProto, xForwardedHost, xForwardedPort, xRealIP, via, xRequestID
    case xForwardedPrefix, xForwardedSSL, xForwardedScheme, xForwardedServer
    case trueClientIP, xClientIP, xClusterClientIP, cfConnectingIP
    case traceparent, tracestate
    // What other software takes for the path, method, host, person or proxy (`KnownFieldSet.overrides`).
    case xOriginalURL, xRewriteURL, xOriginalURI, xRewriteURI, xOriginalMethod, xOriginalHost, xHost, xHTTPHostOverride
    case xHTTPMethodOverride, xMethodOverride, xHTTPMethod, proxy, remoteUser, xRemoteUser, clientCert, clientCertChain
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

    /// The name as the field's specification spells it; empty for what is no single name.
    package var canonicalName: StaticString {
        switch self {
        case .other, .gatewayPrefixed, .forwardedPrefixed, .alias: ""
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
        case .xForwardedPrefix: "X-Forwarded-Prefix"
        case .xForwardedSSL: "X-Forwarded-Ssl"
        case .xForwardedScheme: "X-Forwarded-Scheme"
        case .xForwardedServer: "X-Forwarded-Server"
        case .trueClientIP: "True-Client-IP"
        case .xClientIP: "X-Client-IP"
        case .xClusterClientIP: "X-Cluster-Client-IP"
        case .cfConnectingIP: "CF-Connecting-IP"
        case .xOriginalURL: "X-Original-URL"
        case .xRewriteURL: "X-Rewrite-URL"
        case .xOriginalURI: "X-Original-URI"
        case .xRewriteURI: "X-Rewrite-URI"
        case .xOriginalMethod: "X-Original-Method"
        case .xOriginalHost: "X-Original-Host"
        case .xHost: "X-Host"
        case .xHTTPHostOverride: "X-HTTP-Host-Override"
        case .xHTTPMethodOverride: "X-HTTP-Method-Override"
        case .xMethodOverride: "X-Method-Override"
        case .xHTTPMethod: "X-HTTP-Method"
        case .proxy: "Proxy"
        case .remoteUser: "Remote-User"
        case .xRemoteUser: "X-Remote-User"
        case .clientCert: "Client-Cert"
        case .clientCertChain: "Client-Cert-Chain"
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
