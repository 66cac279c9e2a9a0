// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Limits
import Transport

/// The keys of `routes[].cors`.
enum CORSSection {
    static let credentials = Setting(
        "credentials",
        .flag,
        .standard(false),
        "Whether pages may send cookies and read the answer."
    )
    static let maxAge = Setting(
        "max_age",
        .duration(.seconds(0)...(.seconds(86_400))),
        .standard(.seconds(600)),
        "How long a browser remembers a preflight."
    )
    static let allowHeaders = Setting(
        "allow_headers",
        ValueKind.list(of: ValueKind.fieldName),
        .standard([
            "accept", "authorization", "content-type", "idempotency-key", "x-app-id", "orgid", "appid",
            "x-client-authorization", "x-request-id",
        ]),
        "Fields a page may send."
    )
    static let exposeHeaders = Setting(
        "expose_headers",
        ValueKind.list(of: ValueKind.fieldName),
        .standard(["retry-after", "ratelimit", "ratelimit-policy", "sallyport-decision", "x-request-id"]),
        "Fields a page may read."
    )
    static let methods = Setting(
        "methods",
        ValueKind.list(of: ValueKind.method, atLeast: 1),
        .standard(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]),
        "Methods a page may use."
    )

    static let schema = SectionSchema(
        "routes[].cors",
        [credentials.row, maxAge.row, allowHeaders.row, exposeHeaders.row, methods.row]
    )

    static let kind = ValueKind<CORSPolicy>.section(schema) { section in
        let credentials = section.value(credentials)
        let maxAge = section.value(maxAge)
        let allowHeaders = section.value(allowHeaders)
        let exposeHeaders = section.value(exposeHeaders)
        guard let methods = section.value(methods), let credentials, let maxAge, let allowHeaders, let exposeHeaders
        else { return nil }
        return CORSPolicy(
            allowsCredentials: credentials,
            maxAge: maxAge,
            allowHeaders: allowHeaders,
            exposeHeaders: exposeHeaders,
            methods: methods
        )
    }
}
