// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Testing

/// A client and a server session joined without a socket; events are kept as text, streams by number.
final class SessionPair {
    let client: HTTP2Session
    let server: HTTP2Session
    var clientEvents: [String] = []
    var serverEvents: [String] = []
    var streams: [Int32: HTTP2Stream] = [:]
    var failure: HTTP2Failure?
    /// The pieces in which bytes cross.
    var piece = Int.max
    /// What the server does with a stream event; by default nothing.
    var onServer: (HTTP2Session, HTTP2Event) -> Void = { _, _ in }
    var onClient: (HTTP2Session, HTTP2Event) -> Void = { _, _ in }

    init(
        server settings: HTTP2Settings = HTTP2Settings(),
        client clientSettings: HTTP2Settings = HTTP2Settings()
    ) throws {
        client = try #require(HTTP2Session(.client, settings: clientSettings))
        server = try #require(HTTP2Session(.server, settings: settings))
    }

    /// Carries bytes both ways until neither side has any.
    func run() {
        do throws(HTTP2Failure) {
            for _ in 0..<10_000 {
                let asked = try carry(client, server)
                let answered = try carry(server, client)
                tell()
                if !asked, !answered, !client.hasOutput, !server.hasOutput { return }
            }
            Issue.record("the two never come to rest")
        } catch {
            failure = error
            tell()
        }
    }

    private func carry(_ from: HTTP2Session, _ to: HTTP2Session) throws(HTTP2Failure) -> Bool {
        var buffer = ByteBuffer()
        try from.send(into: &buffer, limit: 60_000)
        guard !buffer.isEmpty else { return false }
        while !buffer.isEmpty {
            let length = min(piece, buffer.count)
            try to.receive(buffer.bytes.extracting(0..<length), now: 0)
            buffer.consume(length)
        }
        return true
    }

    private func tell() {
        while let event = server.nextEvent() {
            serverEvents.append(describe(event))
            onServer(server, event)
        }
        while let event = client.nextEvent() {
            clientEvents.append(describe(event))
            onClient(client, event)
        }
    }

    /// Opens a stream for a request given as HTTP/1.1 text.
    func request(_ text: String, hasBody: Bool = false, adding fields: [(String, String)] = []) throws -> HTTP2Stream {
        var parser = RequestParser()
        var head = RequestHead()
        _ = try parser.parse(latin1(text).span, into: &head)
        let stream = client.request(
            head,
            scheme: "https",
            authority: head.authority,
            target: head.target,
            skipping: .neverForwarded,
            adding: fieldLines(fields).span,
            hasBody: hasBody
        )
        return try #require(stream)
    }

    /// Answers with literal fields.
    func respond(_ stream: HTTP2Stream, _ status: Int, _ fields: [(String, String)] = [], body: String? = nil) {
        let none = FieldTable()
        server.respond(
            stream,
            status: status,
            fields: none,
            skipping: [],
            adding: fieldLines(fields).span,
            hasBody: body != nil
        )
        guard let body else { return }
        server.write(body.utf8.span, to: stream)
        server.end(stream)
    }

    func describe(_ event: HTTP2Event) -> String {
        switch event {
        case .head(let stream):
            streams[stream.id] = stream
            return "head \(stream.id)"
        case .interim(let stream, let answer): return "interim \(stream.id) \(answer.head.status)"
        case .refused(let stream, let violation):
            streams[stream.id] = stream
            return "refused \(stream.id) \(violation.rawValue)"
        case .data(let stream): return "data \(stream.id)"
        case .ended(let stream): return "ended \(stream.id)"
        case .drained(let stream): return "drained \(stream.id)"
        case .closed(let stream, let code): return "closed \(stream.id) \(code.rawValue)"
        case .goAway(let last, let code): return "goaway \(last) \(code.rawValue)"
        case .pong: return "pong"
        }
    }
}

/// A table of these fields.
func table(_ fields: [(String, String)]) -> FieldTable {
    var table = FieldTable()
    for (name, value) in fields { table.append(name: name.utf8.span, value: value.utf8.span) }
    return table
}

/// The lines of these fields.
func fieldLines(_ fields: [(String, String)]) -> [UInt8] {
    latin1(fields.map { "\($0.0): \($0.1)\r\n" }.joined())
}

/// A server session fed with raw bytes: events as text, and how it ended.
struct RawServer {
    var events: [String] = []
    var failure: HTTP2Failure?
    /// What it answered.
    var output: [UInt8] = []
    var isOver = false

    init(_ bytes: [UInt8], settings: HTTP2Settings = HTTP2Settings(), piece: Int = Int.max) throws {
        let pair = try SessionPair(server: settings)
        var at = 0
        do throws(HTTP2Failure) {
            while at < bytes.count {
                let length = min(piece, bytes.count - at)
                try pair.server.receive(bytes.span.extracting(at..<at + length), now: 0)
                at += length
                while let event = pair.server.nextEvent() { events.append(pair.describe(event)) }
                try flush(pair.server)
                while let event = pair.server.nextEvent() { events.append(pair.describe(event)) }
            }
        } catch {
            failure = error
            var rest = ByteBuffer()
            do { try pair.server.send(into: &rest, limit: 100_000) } catch {}
            append(rest)
        }
        isOver = pair.server.isOver
    }

    private mutating func flush(_ session: HTTP2Session) throws(HTTP2Failure) {
        var buffer = ByteBuffer()
        do throws(HTTP2Failure) {
            try session.send(into: &buffer, limit: 100_000)
        } catch {
            append(buffer)
            throw error
        }
        append(buffer)
    }

    private mutating func append(_ buffer: borrowing ByteBuffer) {
        for index in buffer.bytes.indices { output.append(buffer.bytes[index]) }
    }

    /// The types and codes of the RST_STREAM and GOAWAY frames sent.
    var endings: [String] {
        var endings: [String] = []
        var at = 0
        while at + 9 <= output.count {
            let length = Int(output[at]) << 16 | Int(output[at + 1]) << 8 | Int(output[at + 2])
            let payload = output[(at + 9)..<(at + 9 + length)]
            if output[at + 3] == 3 { endings.append("reset \(payload.last ?? 0)") }
            if output[at + 3] == 7 { endings.append("goaway \(payload.dropFirst(7).first ?? 0)") }
            at += 9 + length
        }
        return endings
    }
}
