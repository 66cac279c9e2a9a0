// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import COpenSSL
import Crypto

/// One certificate chain with its key, read from PEM and checked against each other.
///
/// Owns what it read; an SSL_CTX that uses it takes references of its own.
@safe
final class TLSIdentity {
    private let certificate: OpaquePointer
    private let key: OpaquePointer
    private let chain: [OpaquePointer]

    init(_ source: TLSServerSettings.Identity) throws(TLSFailure) {
        TLSErrorQueue.clear()
        let certificates = unsafe TLSIdentity.certificates(pem: source.chainPEM)
        guard let leaf = unsafe certificates.first else {
            throw TLSErrorQueue.drain(otherwise: .badCertificateFile).named(source.name)
        }
        TLSErrorQueue.clear()
        guard let key = unsafe TLSIdentity.privateKey(pem: source.keyPEM) else {
            unsafe certificates.forEach { unsafe X509_free($0) }
            throw TLSErrorQueue.drain(otherwise: .badKeyFile).replacing(.badKeyFile).named(source.name)
        }
        unsafe self.certificate = leaf
        unsafe self.key = key
        unsafe chain = Array(certificates.dropFirst())
        guard unsafe X509_check_private_key(leaf, key) == 1 else {
            TLSErrorQueue.clear()
            throw TLSFailure(.keyMismatch).named(source.name)
        }
    }

    deinit {
        unsafe X509_free(certificate)
        unsafe EVP_PKEY_free(key)
        unsafe chain.forEach { unsafe X509_free($0) }
    }

    /// Makes `context` present this identity.
    func install(in context: OpaquePointer) -> Bool {
        guard unsafe SSL_CTX_use_certificate(context, certificate) == 1,
            unsafe SSL_CTX_use_PrivateKey(context, key) == 1
        else { return false }
        for index in unsafe chain.indices {
            unsafe X509_up_ref(chain[index])
            guard unsafe sp_SSL_CTX_add0_chain_cert(context, chain[index]) == 1 else { return false }
        }
        return true
    }

    /// The DNS names the certificate is for, lower-case, wildcards as `*.example.com`.
    func serverNames() -> [String] {
        guard let names = unsafe X509_get_ext_d2i(certificate, NID_subject_alt_name, nil, nil) else { return [] }
        let list = OpaquePointer(names)
        defer { unsafe sp_GENERAL_NAMES_free(list) }
        var found: [String] = []
        var index: CInt = 0
        var length: CInt = 0
        while let bytes = unsafe sp_dns_name(list, index, &length) {
            if length > 0 {
                let name = unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: Int(length)), as: UTF8.self)
                found.append(name.lowercased())
            }
            index += 1
        }
        return found
    }

    /// All certificates of a PEM text; empty where one of them cannot be read.
    static func certificates(pem: [UInt8]) -> [OpaquePointer] {
        var found: [OpaquePointer] = unsafe []
        unsafe withMemoryBIO(pem.span) { bio in
            while let certificate = unsafe PEM_read_bio_X509(bio, nil, nil, nil) { unsafe found.append(certificate) }
        }
        // The end of the text shows as "no start line"; anything else is a broken block.
        let last = ERR_peek_last_error()
        if last == 0 || ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE {
            ERR_clear_error()
            return unsafe found
        }
        unsafe found.forEach { unsafe X509_free($0) }
        return unsafe []
    }

    private static func privateKey(pem: SecretBytes) -> OpaquePointer? {
        var key: OpaquePointer?
        // An empty passphrase: without one OpenSSL would ask on the terminal.
        var passphrase: CChar = 0
        pem.withBytes { pem in
            unsafe withMemoryBIO(pem) { bio in
                unsafe key = PEM_read_bio_PrivateKey(bio, nil, nil, &passphrase)
            }
        }
        return unsafe key
    }
}

/// Lends `bytes` as a read-only BIO.
private func withMemoryBIO(_ bytes: Span<UInt8>, _ body: (OpaquePointer) -> Void) {
    unsafe bytes.withUnsafeBufferPointer { raw in
        guard let count = CInt(exactly: raw.count), let bio = unsafe BIO_new_mem_buf(raw.baseAddress, count) else {
            return
        }
        unsafe body(bio)
        unsafe BIO_free(bio)
    }
}

extension TLSFailure {
    /// The same failure with the name of what it is about in front of the detail.
    func named(_ name: String) -> TLSFailure {
        TLSFailure(reason, detail: detail.isEmpty ? name : "\(name): \(detail)")
    }

    func replacing(_ reason: Reason) -> TLSFailure {
        TLSFailure(reason, detail: detail)
    }
}
