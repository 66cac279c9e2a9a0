// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

extension Configuration {
    /// Reads, resolves and checks a file: the one door that `run`, `check` and reload use.
    ///
    /// `check` looks at the world beyond the text (certificates that match their keys) and reports what it finds.
    package static func load(
        path: String,
        environment: [String: String],
        check: CertificateCheck = { _ in nil }
    ) throws(ConfigurationProblems) -> Configuration {
        throw ConfigurationProblems([])
    }
}

/// Says what is wrong with a certificate and its key, or nil.
package typealias CertificateCheck = (CertificateSettings) -> String?
