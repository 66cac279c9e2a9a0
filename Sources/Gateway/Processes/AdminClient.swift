// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Telemetry

/// Asks a running gateway over its admin socket: blocking, one request a connection.
///
/// For the command line only.
package struct AdminClient: Sendable {
    /// What came back.
    package struct Answer: Sendable {
        package let status: Int
        package let body: [UInt8]
    }

    /// Why nothing came back.
    package enum Failure: Error, Equatable {
        /// No socket, or nobody listens on it.
        case notReachable(String)
        /// This user may not use the socket.
        case notPermitted(String)
        /// It ended in the middle, took too long or did not speak HTTP.
        case broken(String)
    }

    private let path: String
    /// A change may wait for its workers (60 s at most) and for Redis; more is a fault.
    private static let timeoutSeconds = 90
    private static let answerLimit = 64 << 20

    package init(path: String) {
        self.path = path
    }

    /// Sends one request and reads its answer.
    package func send(_ method: String, _ target: String, body: [UInt8] = []) throws(Failure) -> Answer {
        let descriptor = try open()
        defer { close(descriptor) }
        var head = "\(method) \(target) HTTP/1.1\r\nhost: sallyport\r\nconnection: close\r\n"
        if !body.isEmpty { head += "content-type: application/json\r\n" }
        head += "content-length: \(body.count)\r\n\r\n"
        try write(Array(head.utf8) + body, to: descriptor)
        return try parse(read(from: descriptor))
    }

    private func open() throws(Failure) -> CInt {
        var address = sockaddr_un()
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard path.utf8.count < room else { throw .notReachable("\(path) is too long for a socket") }
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw .broken(systemMessage(errno)) }
        var timeout = timeval(tv_sec: Self.timeoutSeconds, tv_usec: 0)
        let length = socklen_t(MemoryLayout<timeval>.size)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, length)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, length)
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else {
            let code = errno
            close(descriptor)
            throw code == EACCES || code == EPERM
                ? .notPermitted("\(path): \(systemMessage(code))") : .notReachable("\(path): \(systemMessage(code))")
        }
        return descriptor
    }

    private func write(_ bytes: [UInt8], to descriptor: CInt) throws(Failure) {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { room in
                unsafe Glibc.send(
                    descriptor,
                    room.baseAddress?.advanced(by: sent),
                    bytes.count - sent,
                    CInt(MSG_NOSIGNAL)
                )
            }
            if count < 0, errno == EINTR { continue }
            // An answer may be there although the request was not read to its end.
            guard count > 0 else { return }
            sent += count
        }
    }

    private func read(from descriptor: CInt) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe recv(descriptor, &chunk, chunk.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw .broken(errno == EAGAIN ? "no answer in \(Self.timeoutSeconds) s" : systemMessage(errno))
            }
            if count == 0 { return bytes }
            bytes.append(contentsOf: chunk[..<count])
            guard bytes.count <= Self.answerLimit else { throw .broken("the answer is too long") }
        }
    }

    /// Splits an answer that was read to its end; the body's length must be the one announced.
    private func parse(_ bytes: [UInt8]) throws(Failure) -> Answer {
        let text = Array("\r\n\r\n".utf8)
        var end = 0
        while end + 4 <= bytes.count, Array(bytes[end..<end + 4]) != text { end += 1 }
        guard end + 4 <= bytes.count else { throw .broken("the gateway closed the connection without an answer") }
        let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
            throw .broken("what listens on \(path) does not speak HTTP")
        }
        let body = Array(bytes[(end + 4)...])
        for line in lines.dropFirst() where line.lowercased().hasPrefix("content-length:") {
            let announced = line.dropFirst("content-length:".count).filter { $0 != " " }
            guard Int(announced) == body.count else { throw .broken("the answer was cut short") }
        }
        return Answer(status: status, body: body)
    }
}
