// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import COpenSSL
import Glibc

/// What protects a stream.
enum StreamSecurity {
    case none
    case server(TLSServerContext)
    case client(TLSClientContext, serverName: String)
}

extension ByteStream {
    /// The most plaintext of one record.
    private static let recordSize = 16 << 10
    /// Records are gathered up to here before they go out with one send.
    private static let gatherSize = 96 << 10

    /// The stream an SSL object belongs to.
    static func of(_ ssl: OpaquePointer) -> ByteStream? {
        guard let bio = unsafe SSL_get_rbio(ssl), let data = unsafe BIO_get_data(bio) else { return nil }
        return unsafe Unmanaged<ByteStream>.fromOpaque(data).takeUnretainedValue()
    }

    /// Makes the SSL object where the stream is to be secured.
    func prepareSecurity() throws(StreamFailure) {
        let made: OpaquePointer?
        switch security {
        case .none: return
        case .server(let context):
            unsafe made = context.makeSSL()
            if let made = unsafe made { unsafe SSL_set_accept_state(made) }
        case .client(let context, let serverName):
            do throws(TLSFailure) {
                unsafe made = try context.makeSSL(serverName: serverName, peer: peer)
            } catch { throw .tls(error) }
            unsafe SSL_set_connect_state(made)
        }
        guard let made = unsafe made, let bio = unsafe SocketBIO.make(for: self) else {
            throw .tls(TLSErrorQueue.drain(otherwise: .unusableSetting))
        }
        unsafe SSL_set_bio(made, bio, bio)
        unsafe ssl = made
    }

    func beginHandshake() {
        phase = .handshaking
        // Its signature costs as much as a hundred requests. Of our own handshakes one waits for the other side only.
        if case .server = security { isHeavy = true }
        timer.arm(after: limits.handshakeDeadline)
    }

    func continueHandshake() {
        guard phase == .handshaking, let ssl = unsafe ssl else { return }
        TLSErrorQueue.clear()
        let result = unsafe SSL_do_handshake(ssl)
        guard result != 1 else { return unsafe handshakeFinished(ssl) }
        switch unsafe SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ: sendWire()
        default: unsafe failSecurely(handshakeFailure(ssl))
        }
    }

    private func handshakeFinished(_ ssl: OpaquePointer) {
        let facts = unsafe TLSSessionFacts(ssl)
        // What succeeded may have tried something first that did not.
        TLSErrorQueue.clear()
        isSecured = true
        isHeavy = false
        mayHoldInput = true
        openForBytes()
        sendWire()
        owner?.streamSecured(self, facts)
        if phase == .open { readAvailable() }
    }

    private func handshakeFailure(_ ssl: OpaquePointer) -> StreamFailure {
        defer { TLSErrorQueue.clear() }
        if socketError != 0 { return StreamFailure(SystemError(socketError)) }
        if ciphertextEnded { return .truncated }
        let failure = TLSErrorQueue.drain(otherwise: .protocolViolation)
        if refusedServerName { return .tls(failure.replacing(.unknownServerName)) }
        let verdict = unsafe SSL_get_verify_result(ssl)
        if verdict != Int(X509_V_OK), case .client = security {
            return .tls(TLSFailure(verification: verdict))
        }
        return .tls(failure)
    }

    /// Decrypts into `inbound`; asks the error queue only about failures, because a look at it costs
    /// two hundred instructions.
    func fillFromTLS() -> Filling {
        guard let ssl = unsafe ssl else { return .drained }
        mayHoldInput = true
        while inbound.count < limits.inboundHighWater {
            if !mayRead, unsafe SSL_has_pending(ssl) == 0 { break }
            let received = unsafe inbound.write(minimum: readSize) { room in
                Int(unsafe SSL_read(ssl, room.baseAddress, CInt(truncatingIfNeeded: min(room.count, 1 << 20))))
            }
            if received > 0 {
                if received >= readSize { readSize = min(readSize * 4, Self.recordSize) }
                continue
            }
            // It wanted more of the socket, which was neither at its end nor failed: nothing is wrong.
            if unsafe SSL_want(ssl) == SSL_READING, !ciphertextEnded, socketError == 0 { break }
            if unsafe SSL_get_error(ssl, CInt(truncatingIfNeeded: received)) == SSL_ERROR_ZERO_RETURN { return .ended }
            return .failed(readFailure())
        }
        guard inbound.count < limits.inboundHighWater else { return .full }
        mayHoldInput = false
        return .drained
    }

    /// Whether bytes have come that are no whole record yet.
    var holdsPartOfRecord: Bool {
        guard let ssl = unsafe ssl else { return false }
        return unsafe SSL_has_pending(ssl) != 0
    }

    private func readFailure() -> StreamFailure {
        defer { TLSErrorQueue.clear() }
        if socketError != 0 { return StreamFailure(SystemError(socketError)) }
        if ciphertextEnded || TLSErrorQueue.saysUnexpectedEnd { return .truncated }
        return .tls(TLSErrorQueue.drain(otherwise: .protocolViolation))
    }

    /// Encrypts `outbound`, gathering records so that one flush is one send.
    func sendThroughTLS() {
        sendWire()
        guard wire.isEmpty, let ssl = unsafe ssl else { return }
        while !outbound.isEmpty, mayWrite {
            let length = min(outbound.count, Self.recordSize)
            moreToEncrypt = outbound.count > length && wire.count < Self.gatherSize
            let written = unsafe encrypt(outbound.bytes, length, ssl)
            moreToEncrypt = false
            guard written > 0 else {
                return noteFailure(.tls(TLSErrorQueue.drain(otherwise: .protocolViolation)))
            }
            outbound.consume(Int(written))
        }
    }

    @inline(__always)
    private func encrypt(_ bytes: Span<UInt8>, _ length: Int, _ ssl: OpaquePointer) -> CInt {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe SSL_write(ssl, bytes.baseAddress, CInt(truncatingIfNeeded: length))
        }
    }

    /// Says close_notify, as far as the socket takes it.
    func notifyClose() {
        guard let ssl = unsafe ssl, isSecured else { return }
        TLSErrorQueue.clear()
        unsafe SSL_shutdown(ssl)
        TLSErrorQueue.clear()
    }
}

extension TLSSessionFacts {
    fileprivate init(_ ssl: OpaquePointer) {
        if let name = unsafe SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name) {
            serverName = unsafe String(cString: name).lowercased()
        }
        var bytes: UnsafePointer<UInt8>?
        var length: CUnsignedInt = 0
        unsafe SSL_get0_alpn_selected(ssl, &bytes, &length)
        if length > 0 {
            applicationProtocol = unsafe String(
                decoding: UnsafeBufferPointer(start: bytes, count: Int(length)),
                as: UTF8.self
            )
        }
        version = unsafe SSL_version(ssl) == TLS1_3_VERSION ? .v1_3 : .v1_2
        isResumed = unsafe SSL_session_reused(ssl) == 1
    }
}

extension TLSFailure {
    fileprivate init(verification code: Int) {
        let reason: Reason =
            switch CInt(truncatingIfNeeded: code) {
            case X509_V_ERR_CERT_HAS_EXPIRED: .certificateExpired
            case X509_V_ERR_CERT_NOT_YET_VALID: .certificateNotYetValid
            case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: .hostnameMismatch
            case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: .selfSigned
            case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
                X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
                X509_V_ERR_CERT_UNTRUSTED:
                .untrustedRoot
            case X509_V_ERR_CERT_REVOKED: .certificateRevoked
            default: .certificateRejected
            }
        let text = unsafe X509_verify_cert_error_string(code).map { unsafe String(cString: $0) }
        self.init(reason, detail: text ?? "")
    }
}
