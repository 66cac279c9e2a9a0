// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Looks at the certificates that a configuration names, for `check`, start and reload alike.
package enum CertificateFiles {
    /// What is wrong with a certificate and its key; nil when they can be used.
    package static func problem(_ settings: CertificateSettings) -> String? {
        for path in [settings.certificate, settings.key] {
            if case .failure(let fault) = Files.read(path, limit: 1 << 20) { return "\(path): \(fault.message)" }
        }
        return nil
    }
}
