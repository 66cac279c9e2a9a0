// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import COpenSSL
import Crypto
import Glibc

// Only OpenSSL's ticket callback calls these.
extension TicketKeys {
    /// Names the current key and sets up encryption and code; -1 where the library fails.
    func seal(
        _ name: UnsafeMutablePointer<UInt8>,
        _ vector: UnsafeMutablePointer<UInt8>,
        _ cipher: OpaquePointer?,
        _ code: OpaquePointer?
    ) -> CInt {
        guard unsafe RAND_bytes(vector, 16) == 1 else { return -1 }
        current.bytes.withBytes { bytes in
            for index in 0..<16 { unsafe name[index] = bytes[index] }
        }
        return unsafe current.prepare(cipher, code, vector, isSealing: true) ? 1 : -1
    }

    /// Finds the key by its name: 1 for the current, 2 for the previous (a new ticket is sent), 0 for an unknown one.
    func open(
        _ name: UnsafeMutablePointer<UInt8>,
        _ vector: UnsafeMutablePointer<UInt8>,
        _ cipher: OpaquePointer?,
        _ code: OpaquePointer?
    ) -> CInt {
        if unsafe current.isNamed(name) {
            return unsafe current.prepare(cipher, code, vector, isSealing: false) ? 1 : -1
        }
        if let previous, unsafe previous.isNamed(name) {
            return unsafe previous.prepare(cipher, code, vector, isSealing: false) ? 2 : -1
        }
        return 0
    }
}

extension TicketKeys.Key {
    fileprivate func isNamed(_ name: UnsafePointer<UInt8>) -> Bool {
        bytes.withBytes { bytes in
            unsafe bytes.withUnsafeBufferPointer { unsafe memcmp($0.baseAddress.unsafelyUnwrapped, name, 16) == 0 }
        }
    }

    fileprivate func prepare(
        _ cipher: OpaquePointer?,
        _ code: OpaquePointer?,
        _ vector: UnsafePointer<UInt8>,
        isSealing: Bool
    ) -> Bool {
        bytes.withBytes { unsafe prepare(cipher, code, vector, key: $0, isSealing: isSealing) }
    }

    private func prepare(
        _ cipher: OpaquePointer?,
        _ code: OpaquePointer?,
        _ vector: UnsafePointer<UInt8>,
        key: Span<UInt8>,
        isSealing: Bool
    ) -> Bool {
        unsafe key.withUnsafeBufferPointer { key in
            guard let base = key.baseAddress else { return false }
            let algorithm = unsafe EVP_aes_256_cbc()
            let set =
                isSealing
                ? unsafe EVP_EncryptInit_ex(cipher, algorithm, nil, base + 16, vector)
                : unsafe EVP_DecryptInit_ex(cipher, algorithm, nil, base + 16, vector)
            guard set == 1 else { return false }
            var digest = Array("sha256".utf8CString)
            return unsafe digest.withUnsafeMutableBufferPointer { digest in
                var parameters = unsafe [
                    OSSL_PARAM_construct_octet_string(
                        sp_mac_param_key(),
                        UnsafeMutableRawPointer(mutating: base + 48),
                        32
                    ),
                    OSSL_PARAM_construct_utf8_string(sp_mac_param_digest(), digest.baseAddress, 0),
                    OSSL_PARAM_construct_end(),
                ]
                return unsafe EVP_MAC_CTX_set_params(code, &parameters) == 1
            }
        }
    }
}
