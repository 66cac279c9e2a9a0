// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import COpenSSL

/// HMAC-SHA256 under one key, its state made once and used again; one owner, one thread.
@safe
package final class HMACSHA256 {
    private let context: OpaquePointer

    /// A computation under `key`.
    package init(key: Span<UInt8>) {
        guard let context = unsafe EVP_MAC_CTX_new(FetchedMAC.hmac.pointer) else {
            preconditionFailure("out of memory")
        }
        unsafe self.context = context
        // An empty key must still be a key: a null pointer would mean "the key of before".
        let status = unsafe key.withUnsafeBufferPointer { bytes in
            unsafe withDigestParameters { parameters in
                var none: UInt8 = 0
                return unsafe withUnsafePointer(to: &none) {
                    unsafe EVP_MAC_init(context, bytes.baseAddress ?? $0, bytes.count, parameters)
                }
            }
        }
        precondition(status == 1, "HMAC takes any key")
    }

    /// A computation under a secret.
    package convenience init(key: SecretBytes) {
        var bytes = key.copy()
        self.init(key: bytes.span)
        SecretBytes.wipe(&bytes)
    }

    deinit {
        unsafe EVP_MAC_CTX_free(context)
    }

    /// The code of `bytes`; no allocation.
    package func code(for bytes: Span<UInt8>) -> Digest {
        restart()
        unsafe bytes.withUnsafeBufferPointer {
            precondition(unsafe EVP_MAC_update(context, $0.baseAddress, $0.count) == 1, "HMAC cannot refuse input")
        }
        return finish()
    }

    /// The code of the bytes of an array.
    package func code(for bytes: [UInt8]) -> Digest {
        code(for: bytes.span)
    }

    /// The code of `first` followed by `second`; no allocation.
    package func code(for first: Span<UInt8>, _ second: Span<UInt8>) -> Digest {
        restart()
        unsafe first.withUnsafeBufferPointer {
            precondition(unsafe EVP_MAC_update(context, $0.baseAddress, $0.count) == 1, "HMAC cannot refuse input")
        }
        unsafe second.withUnsafeBufferPointer {
            precondition(unsafe EVP_MAC_update(context, $0.baseAddress, $0.count) == 1, "HMAC cannot refuse input")
        }
        return finish()
    }

    private func restart() {
        precondition(unsafe EVP_MAC_init(context, nil, 0, nil) == 1, "HMAC cannot fail to start")
    }

    private func finish() -> Digest {
        var digest = Digest()
        var length = 0
        let status = unsafe digest.withPointer { unsafe EVP_MAC_final(context, $0, &length, 32) }
        precondition(status == 1 && length == 32, "HMAC cannot fail")
        return digest
    }
}

private func withDigestParameters<Result>(_ body: (UnsafePointer<OSSL_PARAM>) -> Result) -> Result {
    var name = Array("SHA256".utf8CString)
    return unsafe name.withUnsafeMutableBufferPointer { name in
        let parameters = unsafe [
            OSSL_PARAM_construct_utf8_string(sp_mac_param_digest(), name.baseAddress, 0),
            OSSL_PARAM_construct_end(),
        ]
        return unsafe parameters.withUnsafeBufferPointer { unsafe body($0.baseAddress.unsafelyUnwrapped) }
    }
}
