// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Encodings
import Transport

/// What is wrong with a certificate and its key.
package enum CertificateProblem: Error, Equatable {
    case certificate(String)
    case key(String)
}

/// Looks at a certificate and its key; nil when a listener can use them.
package typealias CertificateCheck = (CertificateSettings) -> CertificateProblem?

/// The check of `run`, `check` and reload: both files can be read, and the key is the leaf's.
package enum CertificateFiles {
    /// No chain is longer than this.
    private static let limit = 1 << 20

    package static func check(_ settings: CertificateSettings) -> CertificateProblem? {
        let result = Result { () throws(CertificateProblem) in try match(settings) }
        guard case .failure(let problem) = result else { return nil }
        return problem
    }

    private static func match(_ settings: CertificateSettings) throws(CertificateProblem) {
        let chain = Result { () throws(FileReason) in try text(settings.certificate) }
        let key = Result { () throws(FileReason) in try text(settings.key) }
        guard case .success(let chain) = chain else { throw .certificate(chain.reason) }
        guard case .success(let key) = key else { throw .key(key.reason) }
        let leaf = try leaf(chain)
        do {
            if try PrivateKey(pem: key).publicKey != leaf {
                throw CertificateProblem.key("it is not the certificate's key")
            }
        } catch let problem as CertificateProblem {
            throw problem
        } catch {
            throw .key("it holds no private key that can be read")
        }
        // What is right by itself may still be more, or weaker, than a listener takes.
        let identity = TLSServerSettings.Identity(
            name: "",
            chainPEM: Array(chain.utf8),
            keyPEM: SecretBytes(Array(key.utf8).span)
        )
        if let failure = TLSFiles.problem(of: identity) {
            throw .certificate("a listener cannot use it: \(failure)")
        }
    }

    private static func leaf(_ chain: String) throws(CertificateProblem) -> PublicKey {
        do {
            guard let block = try PEM.blocks(in: chain).first(where: { $0.label == "CERTIFICATE" }) else {
                throw CertificateProblem.certificate("it holds no certificate in PEM form")
            }
            return try Certificate(der: block.bytes).publicKey()
        } catch let problem as CertificateProblem {
            throw problem
        } catch {
            throw .certificate("it cannot be read as a certificate")
        }
    }

    private static func text(_ path: String) throws(FileReason) -> String {
        switch Files.read(path, limit: limit) {
        case .failure(let fault): throw FileReason(text: "cannot read it: \(fault.message)")
        case .success(let bytes):
            guard let text = String(validating: bytes, as: UTF8.self) else { throw FileReason(text: "it is not text") }
            return text
        }
    }
}

/// Why a file could not be taken.
private struct FileReason: Error {
    let text: String
}

extension Result where Failure == FileReason {
    fileprivate var reason: String {
        switch self {
        case .success: ""
        case .failure(let reason): reason.text
        }
    }
}
