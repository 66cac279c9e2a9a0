// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Encodings
import Transport

/// What is wrong with a certificate and its key; whether only this user may not read the file.
package enum CertificateProblem: Error, Equatable {
    case certificate(String, isOfThisUser: Bool = false)
    case key(String, isOfThisUser: Bool = false)
}

/// Looks at a certificate and its key; nil when a listener can use them.
package typealias CertificateCheck = (CertificateSettings) -> CertificateProblem?

/// The check of `run`, `check` and reload: both files can be read, and the key is the leaf's.
package enum CertificateFiles {
    package static func check(_ settings: CertificateSettings) -> CertificateProblem? {
        let result = Result { () throws(CertificateProblem) in try match(settings) }
        guard case .failure(let problem) = result else { return nil }
        return problem
    }

    private static func match(_ settings: CertificateSettings) throws(CertificateProblem) {
        let chain = try chain(settings.certificate)
        let key: SecretBytes
        switch Files.readSecret(settings.key, limit: PEMFile.limit) {
        case .success(let bytes): key = bytes
        case .failure(let fault):
            throw .key("cannot read it: \(fault.message)", isOfThisUser: fault.isOfThisUser)
        }
        let leaf = try leaf(chain)
        do {
            guard try PrivateKey(pem: key).publicKey == leaf else {
                throw CertificateProblem.key("it is not the certificate's key")
            }
        } catch let problem as CertificateProblem {
            throw problem
        } catch {
            throw .key("it holds no private key that can be read")
        }
        // What is right by itself may still be more, or weaker, than a listener takes.
        let identity = TLSServerSettings.Identity(name: "", chainPEM: Array(chain.utf8), keyPEM: key)
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

    private static func chain(_ path: String) throws(CertificateProblem) -> String {
        switch Files.read(path, limit: PEMFile.limit) {
        case .failure(let fault):
            throw .certificate("cannot read it: \(fault.message)", isOfThisUser: fault.isOfThisUser)
        case .success(let bytes):
            guard let text = String(validating: bytes, as: UTF8.self) else { throw .certificate("it is not text") }
            return text
        }
    }
}
