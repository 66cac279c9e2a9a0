// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Why bytes from the network are not a message; the raw value is the stable word for logs and metrics.
///
/// On the response side the caller answers 502 whatever `status` says.
package enum HTTPViolation: String, Error, Sendable, CaseIterable {
    // The start line.
    case startLineTooLong = "start_line_too_long"
    case malformedStartLine = "malformed_start_line"
    case malformedMethod = "malformed_method"
    case methodNotSupported = "method_not_supported"
    case malformedTarget = "malformed_target"
    case malformedVersion = "malformed_version"
    case versionNotSupported = "version_not_supported"
    case malformedStatus = "malformed_status"
    case tooManyEmptyLines = "too_many_empty_lines"
    /// More came than `InterimTally` lets come before the final answer.
    case tooManyInterims = "too_many_interim_answers"
    // Fields.
    case bareCarriageReturn = "bare_carriage_return"
    case bareLineFeed = "bare_line_feed"
    case controlByte = "control_byte"
    case lineFolding = "line_folding"
    case malformedFieldName = "malformed_field_name"
    case tooManyFields = "too_many_fields"
    case fieldsTooLarge = "fields_too_large"
    // Host.
    case missingHost = "missing_host"
    case repeatedHost = "repeated_host"
    case malformedHost = "malformed_host"
    // Framing.
    case lengthAndTransferEncoding = "length_and_transfer_encoding"
    case repeatedLength = "repeated_length"
    case malformedLength = "malformed_length"
    case malformedTransferEncoding = "malformed_transfer_encoding"
    case transferEncodingNotSupported = "transfer_encoding_not_supported"
    case transferEncodingNotAllowed = "transfer_encoding_not_allowed"
    case expectationFailed = "expectation_failed"
    case malformedConnection = "malformed_connection"
    case connectionNamesEndToEndField = "connection_names_end_to_end_field"
    // Chunks.
    case malformedChunkSize = "malformed_chunk_size"
    case malformedChunkExtension = "malformed_chunk_extension"
    case chunkExtensionTooLong = "chunk_extension_too_long"
    case malformedChunkEnd = "malformed_chunk_end"
    // HTTP/2 only.
    case malformedPseudoField = "malformed_pseudo_field"
    case connectionSpecificField = "connection_specific_field"
    case lengthMismatch = "length_mismatch"
    /// The peer sent nothing for as long as it may.
    case tooSlow = "too_slow"
    /// The peer closed before the message was whole.
    case unexpectedEnd = "unexpected_end"

    /// The status that answers a request so malformed.
    package var status: Int {
        switch self {
        case .tooSlow: 408
        case .startLineTooLong: 414
        case .tooManyFields, .fieldsTooLarge: 431
        case .methodNotSupported, .transferEncodingNotSupported: 501
        case .versionNotSupported: 505
        case .expectationFailed: 417
        case .malformedStartLine, .malformedMethod, .malformedTarget, .malformedVersion, .malformedStatus,
            .tooManyEmptyLines, .tooManyInterims, .bareCarriageReturn, .bareLineFeed, .controlByte, .lineFolding,
            .malformedFieldName, .missingHost, .repeatedHost, .malformedHost, .lengthAndTransferEncoding,
            .repeatedLength, .malformedLength, .malformedTransferEncoding, .transferEncodingNotAllowed,
            .malformedConnection, .connectionNamesEndToEndField, .malformedChunkSize, .malformedChunkExtension,
            .chunkExtensionTooLong, .malformedChunkEnd, .malformedPseudoField, .connectionSpecificField,
            .lengthMismatch, .unexpectedEnd:
            400
        }
    }
}
