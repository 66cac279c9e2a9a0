// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What a web sign-in's domain is worth (APP-043 order).
package enum DomainVerdict: Sendable, Equatable {
    case allowed
    case notConfigured
    case notAllowed
    case originMismatch
}

/// Compares a presented domain and `Origin` with the listed ones.
enum DomainRule {
    static func judge(domain: String?, origin: String?, listed: ByteSet) -> DomainVerdict { .notAllowed }
}
