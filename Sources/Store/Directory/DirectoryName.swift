// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Credentials

/// What one look-up goes by; part of the hash.
enum DirectoryKind: UInt8 {
    case record, appID, username, key, site, token
    case appMark, keyMark, deviceMark, personMark
}

/// A name as bytes, in one or two parts, hashed with the process's own seed.
///
/// Two parts are an organization and a name in it.
struct DirectoryName: Hashable {
    let kind: DirectoryKind
    let bytes: [UInt8]

    init(_ kind: DirectoryKind, _ text: String) {
        self.kind = kind
        bytes = [UInt8](text.utf8)
    }

    init(_ reference: RegistryStore.AppReference) {
        switch reference {
        case .record(let id): self.init(.record, id.rawValue)
        case .appID(let id): self.init(.appID, id.rawValue)
        case .username(let organization, let name): self.init(.username, organization.rawValue + "/" + name)
        case .key(let id): self.init(.key, id.rawValue)
        }
    }

    var digest: Int { digestOf(kind, bytes.span) }
}

/// A keyed hash of a name; nobody outside can make two names meet.
func digestOf(_ kind: DirectoryKind, _ bytes: Span<UInt8>) -> Int {
    var hasher = Hasher()
    hasher.combine(kind.rawValue)
    unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    return hasher.finalize()
}

/// The same for a name in two parts, without joining them.
func digestOf(_ kind: DirectoryKind, _ first: Span<UInt8>, _ second: Span<UInt8>) -> Int {
    var hasher = Hasher()
    hasher.combine(kind.rawValue)
    unsafe first.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    hasher.combine(UInt8(ascii: "/"))
    unsafe second.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    return hasher.finalize()
}

extension Span<UInt8> {
    /// Whether these are the bytes of `array` from `offset` on.
    func matches(_ array: [UInt8], from offset: Int = 0) -> Bool {
        guard array.count - offset >= count else { return false }
        return equals(array.span.extracting(offset..<offset + count))
    }

    /// Whether these are the bytes of `text`.
    func matches(_ text: String) -> Bool {
        let other = text.utf8.span
        guard other.count == count else { return false }
        for index in indices where self[index] != other[index] { return false }
        return true
    }
}

extension DirectoryName {
    /// The digest under which the table keeps the name: two parts are hashed as two parts.
    func digest(_ digest: NameDigest) -> UInt64 {
        let span = bytes.span
        guard kind == .username, let slash = bytes.firstIndex(of: UInt8(ascii: "/")) else {
            return digest.of(kind, span)
        }
        return digest.of(kind, span.extracting(0..<slash), span.extracting(slash + 1..<bytes.count))
    }

    /// Whether this is that name.
    @inline(__always)
    func equals(_ kind: DirectoryKind, _ name: Span<UInt8>) -> Bool {
        self.kind == kind && bytes.count == name.count && name.matches(bytes)
    }

    /// Whether this is that name in two parts.
    func equals(_ kind: DirectoryKind, _ first: Span<UInt8>, _ second: Span<UInt8>) -> Bool {
        self.kind == kind && bytes.count == first.count + 1 + second.count && first.matches(bytes)
            && bytes[first.count] == UInt8(ascii: "/") && second.matches(bytes, from: first.count + 1)
    }
}
