// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Transport

/// The keys of `routes[].match`.
enum MatchSection {
    static let hosts = Setting(
        "hosts",
        ValueKind.list(of: ValueKind.host, atLeast: 1),
        .optional,
        "Names; `*.example.com` takes one label. Left out: any host."
    )
    static let path = Setting(
        "path",
        ValueKind.requestPath,
        .standard("/"),
        "A prefix that ends at a segment: `/v1` and `/v1/` take `/v1/x`, never `/v1x`."
    )
    static let methods = Setting(
        "methods",
        ValueKind.list(of: ValueKind.method, atLeast: 1),
        .optional,
        "Left out: any method. CONNECT, TRACE and TRACK are never taken."
    )

    static let schema = SectionSchema("routes[].match", [hosts.row, path.row, methods.row])

    static let kind = ValueKind<RouteMatch>.section(schema) { section in
        let hosts = section.value(hosts)
        let methods = section.value(methods)
        guard let path = section.value(path) else { return nil }
        return RouteMatch(hosts: hosts ?? [], path: path, methods: methods ?? [])
    }
}
