// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Encodings
import HTTP

/// The name that this node goes by in `Via` (RFC 9110 7.6.3), by which it knows a request of its own again.
///
/// It is derived from the node's random name in the state directory: the same for all workers and after every start,
/// another one for every other gateway, and no help in finding a host.
package struct ViaPseudonym: Sendable {
    /// The name as bytes.
    package let bytes: [UInt8]

    /// The pseudonym of the node with this name.
    package init(node: String) {
        let digest = SHA256.hash(Array("sallyport via\(node)".utf8))
        bytes = Array("sallyport-\(Hex.encode(Array(digest.bytes[..<6])))".utf8)
    }
}

extension RequestHead {
    /// Whether `Via` says that the request came through the gateway of this name already; a head without the field pays
    /// nothing.
    func hasPassed(_ gateway: ViaPseudonym) -> Bool {
        guard fields.contains(.via) else { return false }
        for index in 0..<fields.count where fields.field(at: index) == .via {
            if fields.value(at: index).namesHop(gateway.bytes.span) { return true }
        }
        return false
    }
}

extension Span<UInt8> {
    /// Whether a member of this `Via` has `name` as its received-by: the word behind the protocol's version.
    ///
    /// Comments are not understood: one that spells a member out counts as one, which only refuses.
    package func namesHop(_ name: Span<UInt8>) -> Bool {
        var members = TokenList()
        while let range = members.nextMember(of: self) {
            var start = range.lowerBound
            while start < range.upperBound, !self[start].isBlank { start += 1 }
            while start < range.upperBound, self[start].isBlank { start += 1 }
            var end = start
            while end < range.upperBound, !self[end].isBlank { end += 1 }
            if extracting(start..<end).equalsIgnoringCase(name) { return true }
        }
        return false
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == 0x20 || self == 0x09 }
}
