// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import COpenSSL
import Glibc

/// OpenSSL's door to a stream's socket.
///
/// Reads stop without a system call once a short read has shown the socket to be empty. Writes never fail for want of
/// room: what the socket does not take waits in `wire`.
@Reactor
@safe
enum SocketBIO {
    /// The method table, made once per process and never freed.
    private static let method: OpaquePointer? = unsafe makeMethod()

    /// A BIO over the stream, which outlives it: the stream frees its SSL object first.
    static func make(for stream: ByteStream) -> OpaquePointer? {
        guard let bio = unsafe BIO_new(method) else { return nil }
        unsafe BIO_set_data(bio, Unmanaged.passUnretained(stream).toOpaque())
        unsafe BIO_set_init(bio, 1)
        return unsafe bio
    }

    private static func makeMethod() -> OpaquePointer? {
        let kind = BIO_get_new_index() | BIO_TYPE_SOURCE_SINK
        guard let method = unsafe BIO_meth_new(kind, "sallyport stream") else { return nil }
        unsafe BIO_meth_set_read_ex(method) { bio, bytes, length, count in
            guard let bio = unsafe bio, let data = unsafe BIO_get_data(bio) else { return 0 }
            unsafe sp_BIO_clear_retry_flags(bio)
            return unsafe Unmanaged<ByteStream>.fromOpaque(data)._withUnsafeGuaranteedRef { stream in
                let received = unsafe stream.receiveCiphertext(bytes, length)
                if received < 0 { unsafe sp_BIO_set_retry_read(bio) }
                guard received > 0 else { return received == 0 ? 0 : -1 }
                unsafe count?.pointee = received
                return 1
            }
        }
        unsafe BIO_meth_set_write_ex(method) { bio, bytes, length, count in
            guard let bio = unsafe bio, let data = unsafe BIO_get_data(bio), let bytes = unsafe bytes else { return 0 }
            unsafe Unmanaged<ByteStream>.fromOpaque(data)._withUnsafeGuaranteedRef { stream in
                unsafe stream.sendCiphertext(UnsafeRawPointer(bytes), length)
            }
            unsafe count?.pointee = length
            return 1
        }
        unsafe BIO_meth_set_ctrl(method) { bio, command, _, _ in
            switch command {
            case BIO_CTRL_FLUSH, BIO_CTRL_DUP: return 1
            case BIO_CTRL_EOF:
                guard let data = unsafe BIO_get_data(bio) else { return 1 }
                return unsafe Unmanaged<ByteStream>.fromOpaque(data)._withUnsafeGuaranteedRef {
                    $0.ciphertextEnded ? 1 : 0
                }
            default: return 0
            }
        }
        return unsafe method
    }
}

extension ByteStream {
    /// One recv for OpenSSL: the count, 0 at the end or on failure, -1 where nothing is there.
    @inline(__always)
    fileprivate func receiveCiphertext(_ bytes: UnsafeMutablePointer<CChar>?, _ length: Int) -> Int {
        guard mayRead else { return -1 }
        while true {
            let received = unsafe recv(descriptor, bytes, length, 0)
            if received > 0 {
                if received < length, !sawPeerEnd { mayRead = false }
                return received
            }
            if received == 0 {
                ciphertextEnded = true
                return 0
            }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                mayRead = false
                return -1
            default:
                socketError = errno
                return 0
            }
        }
    }

    /// Sends a record, or keeps it where more of the same flush follows or the socket is full.
    @inline(__always)
    fileprivate func sendCiphertext(_ bytes: UnsafeRawPointer, _ length: Int) {
        let record = unsafe Span(
            _unsafeElements: UnsafeBufferPointer(start: bytes.assumingMemoryBound(to: UInt8.self), count: length)
        )
        guard wire.isEmpty, !moreToEncrypt, mayWrite else {
            wire.append(record)
            if !moreToEncrypt { sendWire() }
            return
        }
        let sent = transmit(record)
        if sent < length {
            wire.append(record.extracting(sent...))
            sendWire()
        }
    }
}
