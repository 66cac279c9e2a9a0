// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import COpenSSL

/// OpenSSL's per-thread queue of errors, read out whole so that no later call meets an old entry.
///
/// Whoever calls OpenSSL leaves the queue empty behind a failure, here and in Crypto: reading and writing rely on it.
enum TLSErrorQueue {
    /// Empties the queue; to be called before and after a handshake, whose parts may fail without the whole failing.
    @inline(__always)
    static func clear() {
        if ERR_peek_error() != 0 { ERR_clear_error() }
    }

    /// Takes everything out: the first entry's reason decides, all texts become the detail.
    static func drain(otherwise reason: TLSFailure.Reason) -> TLSFailure {
        var codes: [UInt] = []
        while true {
            let code = ERR_get_error()
            if code == 0 { break }
            if codes.count < 8 { codes.append(code) }
        }
        guard let first = codes.first else { return TLSFailure(reason) }
        let detail = codes.map(text).joined(separator: "; ")
        let known = isOfTLS(first) ? reasons[ERR_GET_REASON(first)] ?? alert(ERR_GET_REASON(first)) : nil
        return TLSFailure(known ?? reason, detail: detail)
    }

    /// Whether the first entry says that the peer's bytes ended in the middle.
    static var saysUnexpectedEnd: Bool {
        let code = ERR_peek_error()
        return isOfTLS(code) && ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING
    }

    private static func isOfTLS(_ code: UInt) -> Bool { ERR_GET_LIB(code) == ERR_LIB_SSL }

    private static func text(_ code: UInt) -> String {
        guard let reason = unsafe ERR_reason_error_string(code) else { return "error \(code)" }
        return unsafe String(cString: reason)
    }

    /// Reasons from 1000 are alerts that the peer sent.
    private static func alert(_ reason: CInt) -> TLSFailure.Reason? {
        reason >= SSL_AD_REASON_OFFSET ? .alertReceived : nil
    }

    private static let reasons: [CInt: TLSFailure.Reason] = [
        SSL_R_HTTP_REQUEST: .notTLS,
        SSL_R_HTTPS_PROXY_REQUEST: .notTLS,
        SSL_R_WRONG_VERSION_NUMBER: .notTLS,
        SSL_R_UNKNOWN_PROTOCOL: .unsupportedVersion,
        SSL_R_UNSUPPORTED_PROTOCOL: .unsupportedVersion,
        SSL_R_VERSION_TOO_LOW: .unsupportedVersion,
        SSL_R_NO_APPLICATION_PROTOCOL: .noCommonProtocol,
        SSL_R_NO_SHARED_CIPHER: .noCommonCipher,
        SSL_R_NO_SHARED_GROUPS: .noCommonCipher,
        SSL_R_NO_SUITABLE_KEY_SHARE: .noCommonCipher,
        SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS: .noCommonCipher,
    ]
}
