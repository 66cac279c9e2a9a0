// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What went wrong in TLS, as a value a gateway can say.
package struct TLSFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kind of a failure; its raw value is the word used in logs and answers.
    package enum Reason: String, Sendable {
        case certificateExpired = "certificate_expired"
        case certificateNotYetValid = "certificate_not_yet_valid"
        case hostnameMismatch = "hostname_mismatch"
        case untrustedRoot = "untrusted_root"
        case selfSigned = "self_signed"
        case certificateRevoked = "certificate_revoked"
        case certificateRejected = "certificate_rejected"
        case unknownServerName = "unknown_server_name"
        case noCommonProtocol = "no_common_protocol"
        case noCommonCipher = "no_common_cipher"
        case unsupportedVersion = "unsupported_version"
        case notTLS = "not_tls"
        case alertReceived = "alert_received"
        case protocolViolation = "protocol_violation"
        case badCertificateFile = "bad_certificate_file"
        case badKeyFile = "bad_key_file"
        case keyMismatch = "key_mismatch"
        case badTrustFile = "bad_trust_file"
        case unusableSetting = "unusable_setting"
    }

    package let reason: Reason
    /// The library's own words, for logs; never compared.
    package let detail: String

    package init(_ reason: Reason, detail: String = "") {
        self.reason = reason
        self.detail = detail
    }

    package static func == (left: TLSFailure, right: TLSFailure) -> Bool { left.reason == right.reason }

    package var description: String { detail.isEmpty ? reason.rawValue : "\(reason.rawValue) (\(detail))" }
}
