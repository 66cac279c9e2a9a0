// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import HTTP
import Transport

/// What pages may do with the gateway's own endpoints.
@Reactor
enum LocalCORS {
    /// Credentials in the browser's sense (cookies) have no meaning here, so they are never allowed.
    static func policy(_ method: String) -> CORSPolicy {
        CORSPolicy(
            allowsCredentials: false,
            maxAge: .seconds(600),
            allowHeaders: [
                "authorization", "content-type", "orgid", "appid", "x-app-id", "x-api-key", "x-client-authorization",
                "x-device-id", "x-app-version", "x-app-platform",
            ],
            exposeHeaders: ["Retry-After", "Sallyport-Decision"],
            methods: [method]
        )
    }

    /// A refusal is read by any page, an answer only by pages that the app lists.
    static func fields(_ exchange: Exchange, _ match: LocalMatch, isRefusal: Bool) -> [HeaderField] {
        guard match.endpoint.isBrowserFacing, exchange.request.fields.contains(.origin) else {
            return match.endpoint.isBrowserFacing ? [CORSPolicy.vary] : []
        }
        let origin = exchange.request.text(of: .origin)
        if isRefusal { return CORSPolicy.refusalFields(origin: origin) }
        guard let app = exchange.facts.app,
            exchange.request.hasOrigin(listedBy: app, in: match.endpoint.group.dialect)
        else { return [CORSPolicy.vary] }
        return policy(match.endpoint.method).answerFields(origin: origin)
    }
}
