// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

/// The reply that has just been read, laid out flat in reading order; nothing is allocated for it once warm.
///
/// Valid only during the callback that receives it. An array's elements follow it.
package final class RedisReplyTape {
    /// What a node is.
    package enum Kind: Sendable, Equatable {
        case null, integer, status, bytes, error, array
    }

    private struct Node {
        var kind: Kind
        /// An integer's value, a string's offset into `text`, or an array's element count.
        var value: Int
        var length: Int
    }

    private var nodes: [Node] = []
    private var text = ByteBuffer()

    init() {
        nodes.reserveCapacity(64)
    }

    /// The number of nodes.
    package var count: Int { nodes.count }

    /// The integer at `index`, nil where there is none.
    package func integer(at index: Int) -> Int? {
        guard index < nodes.count, nodes[index].kind == .integer else { return nil }
        return nodes[index].value
    }

    /// Lends the string at `index` (of a status or error too); empty for other kinds.
    package func withBytes<Result>(at index: Int, _ body: (Span<UInt8>) -> Result) -> Result {
        guard index < nodes.count else { return Self.lend(text, 0..<0, body) }
        return Self.lend(text, range(of: nodes[index]), body)
    }

    private func range(of node: Node) -> Range<Int> {
        switch node.kind {
        case .bytes, .status, .error: node.value..<node.value + node.length
        case .null, .integer, .array: 0..<0
        }
    }

    private static func lend<Result>(
        _ text: borrowing ByteBuffer,
        _ range: Range<Int>,
        _ body: (Span<UInt8>) -> Result
    ) -> Result {
        body(text.bytes.extracting(range))
    }

    /// The first node as an error to throw, nil where the reply is none.
    package var error: StoreError? {
        guard let first = nodes.first, first.kind == .error else { return nil }
        return .refused(string(of: first))
    }

    /// The reply as a value.
    package func value() -> RedisReply {
        var position = 0
        return value(from: &position)
    }

    private func value(from position: inout Int) -> RedisReply {
        guard position < nodes.count else { return .null }
        let node = nodes[position]
        position += 1
        switch node.kind {
        case .null: return .null
        case .integer: return .integer(Int64(node.value))
        case .status: return .status(string(of: node))
        case .error: return .error(string(of: node))
        case .bytes: return .bytes(Self.lend(text, range(of: node)) { [UInt8](copying: $0) })
        case .array:
            // The reader bounds both depth (7) and count.
            return .array((0..<node.value).map { _ in value(from: &position) })
        }
    }

    private func string(of node: Node) -> String {
        Self.lend(text, range(of: node)) { String(decoding: [UInt8](copying: $0), as: UTF8.self) }
    }

    // MARK: - What the reader does

    func removeAll() {
        nodes.removeAll(keepingCapacity: true)
        text.removeAll()
    }

    func append(_ kind: Kind, value: Int = 0) {
        nodes.append(Node(kind: kind, value: value, length: 0))
    }

    func append(_ kind: Kind, _ span: Span<UInt8>) {
        nodes.append(Node(kind: kind, value: text.count, length: span.count))
        text.append(span)
    }
}

extension [UInt8] {
    /// An array of the same bytes.
    init(copying span: Span<UInt8>) {
        self.init(capacity: span.count) { target in
            for index in span.indices { target.append(span[index]) }
        }
    }
}
