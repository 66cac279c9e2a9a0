// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import COpenSSL

/// Says of the texts of files whether contexts could be made of them, by the code that makes them.
package enum TLSFiles {
    /// Whether a text holds authorities to trust: one at least, and none that cannot be read.
    package static func holdAuthorities(_ pem: [UInt8]) -> Bool {
        TLSErrorQueue.clear()
        let certificates = unsafe TLSIdentity.certificates(pem: pem)
        defer { unsafe certificates.forEach { unsafe X509_free($0) } }
        TLSErrorQueue.clear()
        return unsafe !certificates.isEmpty
    }

    /// Why a listener could not present an identity; nil when it could.
    package static func problem(of source: TLSServerSettings.Identity) -> TLSFailure? {
        do throws(TLSFailure) {
            let identity = try TLSIdentity(source)
            TLSErrorQueue.clear()
            guard let context = unsafe SSL_CTX_new(TLS_server_method()) else {
                return TLSErrorQueue.drain(otherwise: .unusableSetting)
            }
            defer { unsafe SSL_CTX_free(context) }
            unsafe sp_SSL_CTX_set_house_options(context)
            guard unsafe identity.install(in: context) else {
                return TLSErrorQueue.drain(otherwise: .badCertificateFile)
            }
            return nil
        } catch {
            return error
        }
    }
}
