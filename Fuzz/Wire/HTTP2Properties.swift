// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP

/// What must hold for HTTP/2: no frame traps, any two ways of cutting the bytes give the same messages, and neither
/// answers nor what they meet can break the session.
package enum HTTP2Properties {
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    /// Marks a stream that has its answer; the session itself would be a cycle.
    private static let answered = Mark()
    private final class Mark: Sendable {}
    private static let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]

    /// A server that a hostile client speaks to: the first byte says whether the bytes are frames already.
    package static func server(_ bytes: [UInt8]) {
        let frames = preface + settings + self.frames(bytes)
        compare(.server, frames)
        drive(.server, frames)
    }

    /// A client that a hostile server answers.
    package static func client(_ bytes: [UInt8]) {
        let frames = settings + self.frames(bytes)
        compare(.client, frames)
        drive(.client, frames)
    }

    /// Either the bytes as they are, or frames made of them: type, flags, stream, length, then so many bytes.
    private static func frames(_ bytes: [UInt8]) -> [UInt8] {
        guard let mode = bytes.first, mode & 1 == 1 else { return Array(bytes.dropFirst()) }
        var frames: [UInt8] = []
        var at = 1
        while at + 4 <= bytes.count {
            let length = min(Int(bytes[at + 3]) << (bytes[at + 3] > 200 ? 4 : 0), bytes.count - at - 4)
            frames += [0, UInt8(length >> 8), UInt8(length & 255), bytes[at] % 12, bytes[at + 1], 0, 0, 0]
            frames += [bytes[at + 2] & 15] + bytes[(at + 4)..<(at + 4 + length)]
            at += 4 + length
        }
        return frames
    }

    private static func compare(_ role: HTTP2Session.Role, _ bytes: [UInt8]) {
        let whole = SessionReading(role, bytes, pieces: [0..<bytes.count])
        var cuts = Cuts(of: bytes)
        let cut = SessionReading(role, bytes, pieces: cuts.pieces(of: bytes.count))
        require(whole == cut, "two ways of cutting frames differ:\n\(whole)\n\(cut)")
        let slow = SessionReading(role, bytes, pieces: [0..<bytes.count], work: 1 + bytes.count % 200)
        require(whole == slow, "a little at a time differs:\n\(whole)\n\(slow)")
    }

    /// Answers everything while it arrives, with bodies, trailers, resets and a shutdown in between.
    private static func drive(_ role: HTTP2Session.Role, _ bytes: [UInt8]) {
        guard let session = HTTP2Session(role) else { return }
        var cuts = Cuts(of: bytes)
        var output = ByteBuffer()
        var turn = 0
        if role == .client { ask(session, turn) }
        for piece in cuts.pieces(of: bytes.count) {
            turn += 1
            do throws(HTTP2Failure) {
                try session.receive(bytes.span.extracting(piece), now: UInt64(turn) << 24)
                while let event = session.nextEvent() { answer(event, session, turn) }
                if turn & 31 == 7 { session.ping() }
                if turn & 255 == 200 { session.announceShutdown() }
                if turn & 511 == 400 { session.goAway() }
                if role == .client, turn & 15 == 3, session.room > 0 { ask(session, turn) }
                try session.send(into: &output, limit: 1 << 16)
                require(output.count < 1 << 22, "output without bound")
                output.removeAll()
            } catch {
                output.removeAll()
                do throws(HTTP2Failure) { try session.send(into: &output, limit: 1 << 16) } catch { return }
                return
            }
        }
    }

    private static func ask(_ session: HTTP2Session, _ turn: Int) {
        var parser = RequestParser()
        var head = RequestHead()
        let text = Array("\(turn & 1 == 0 ? "GET" : "HEAD") /x HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        guard case .head = try? parser.parse(text.span, into: &head) else { return }
        _ = session.request(
            head,
            scheme: "https",
            authority: head.authority,
            target: head.target,
            skipping: .neverForwarded,
            adding: [UInt8]().span,
            hasBody: false
        )
    }

    private static func answer(_ event: HTTP2Event, _ session: HTTP2Session, _ turn: Int) {
        let none = FieldTable()
        switch event {
        case .head(let stream), .refused(let stream, _):
            // After a head, a refusal is about trailers; the stream has been reset then.
            guard session.role == .server, stream.context == nil else { return }
            stream.context = answered
            let hasBody = turn & 1 == 1
            if turn & 7 == 5 { return session.reset(stream, .cancel) }
            session.respond(stream, status: 200, fields: none, skipping: [], adding: [UInt8]().span, hasBody: hasBody)
            guard hasBody else { return session.ignoreInbound(of: stream) }
            session.write([UInt8](repeating: 1, count: 40_000).span, to: stream)
            session.end(stream)
        case .data(let stream):
            let count = stream.inbound.count
            stream.inbound.consume(count)
            session.credit(count, of: stream)
        case .closed(let stream, _): session.recycle(stream)
        case .interim, .ended, .drained, .goAway, .pong: return
        }
    }
}

/// What a session told of some bytes, nobody answering.
struct SessionReading: Equatable, CustomStringConvertible {
    private var events: [String] = []
    private var bodies: [Int32: [UInt8]] = [:]
    private var failure: HTTP2Failure?

    init(_ role: HTTP2Session.Role, _ bytes: [UInt8], pieces: [Range<Int>], work: Int = .max) {
        guard let session = HTTP2Session(role) else { return }
        var streams: [HTTP2Stream] = []
        for piece in pieces {
            var at = piece.lowerBound
            while at < piece.upperBound, failure == nil {
                do throws(HTTP2Failure) {
                    at += try session.receive(bytes.span.extracting(at..<piece.upperBound), now: 1, work: work)
                } catch {
                    failure = error
                }
                while let event = session.nextEvent() { tell(event, &streams) }
            }
            if failure != nil { break }
        }
        for stream in streams { bodies[stream.id] = stream.inbound.bytes.array }
    }

    private mutating func tell(_ event: HTTP2Event, _ streams: inout [HTTP2Stream]) {
        switch event {
        case .head(let stream):
            streams.append(stream)
            events.append("head \(stream.id) \(MessageReading.lines(stream.request.fields))")
            events.append("\(stream.request.target.array) \(stream.request.authority.array) \(stream.request.framing)")
        case .refused(let stream, let violation): events.append("refused \(stream.id) \(violation)")
        case .interim(let stream, let answer): events.append("interim \(stream.id) \(answer.head.status)")
        // How bytes are grouped is the one thing that may differ.
        case .data: break
        case .ended(let stream): events.append("ended \(stream.id) \(MessageReading.lines(stream.trailers))")
        case .drained(let stream): events.append("drained \(stream.id)")
        case .closed(let stream, let code): events.append("closed \(stream.id) \(code.rawValue)")
        case .goAway(let last, let code): events.append("goaway \(last) \(code.rawValue)")
        case .pong: events.append("pong")
        }
    }

    var description: String { "\(events) \(bodies.mapValues(\.count)) \(failure.map { "\($0)" } ?? "-")" }
}
