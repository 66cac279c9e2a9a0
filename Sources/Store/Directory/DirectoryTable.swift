// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

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
        for index in indices where self[index] != array[offset + index] { return false }
        return true
    }

    /// Whether these are the bytes of `text`.
    func matches(_ text: String) -> Bool {
        let other = text.utf8.span
        guard other.count == count else { return false }
        for index in indices where self[index] != other[index] { return false }
        return true
    }
}

/// One app in the directory, with the names under which it is found.
final class DirectorySlot {
    let lookup: AppLookup
    let record: String
    let organization: String
    let names: [DirectoryName]
    /// Seen since the eviction hand passed last.
    var wasUsed = true
    var position = 0

    init(_ lookup: AppLookup, record: String, organization: String, names: [DirectoryName]) {
        self.lookup = lookup
        self.record = record
        self.organization = organization
        self.names = names
    }
}

/// Apps by their names, bounded: when full, what was not used for a while makes room.
///
/// The digest of a name is the dictionary's key and the name is compared on a hit, so a look-up hashes once and
/// allocates nothing; should two digests ever meet, the later replaces the earlier, as a cache may.
struct DirectoryTable {
    private var entries: [Int: (name: DirectoryName, slot: DirectorySlot)] = [:]
    private var slots: [DirectorySlot] = []
    private var hand = 0
    private let capacity: Int

    init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    var count: Int { slots.count }

    /// The app of a name.
    @inline(__always)
    func find(_ kind: DirectoryKind, _ name: Span<UInt8>) -> DirectorySlot? {
        guard let entry = entries[digestOf(kind, name)], entry.name.kind == kind,
            entry.name.bytes.count == name.count, name.matches(entry.name.bytes)
        else { return nil }
        entry.slot.wasUsed = true
        return entry.slot
    }

    /// The app of a name in two parts, kept joined by a slash.
    func find(_ kind: DirectoryKind, _ first: Span<UInt8>, _ second: Span<UInt8>) -> DirectorySlot? {
        guard let entry = entries[digestOf(kind, first, second)], entry.name.kind == kind else { return nil }
        let bytes = entry.name.bytes
        guard bytes.count == first.count + 1 + second.count, first.matches(bytes),
            bytes[first.count] == UInt8(ascii: "/"), second.matches(bytes, from: first.count + 1)
        else { return nil }
        entry.slot.wasUsed = true
        return entry.slot
    }

    /// Adds an app under all its names, replacing the same record.
    mutating func insert(_ slot: DirectorySlot) {
        if let old = find(.record, slot.record.utf8.span) { remove(old) }
        if slots.count >= capacity { evict() }
        slot.position = slots.count
        slots.append(slot)
        for name in slot.names { entries[name.joinedDigest] = (name, slot) }
    }

    mutating func remove(_ slot: DirectorySlot) {
        guard slot.position < slots.count, slots[slot.position] === slot else { return }
        for name in slot.names {
            let digest = name.joinedDigest
            if entries[digest]?.slot === slot { entries[digest] = nil }
        }
        let last = slots.removeLast()
        if last !== slot {
            slots[slot.position] = last
            last.position = slot.position
        }
    }

    mutating func removeAll() {
        entries.removeAll()
        slots.removeAll()
        hand = 0
    }

    /// The apps of an organization.
    func slots(of organization: String) -> [DirectorySlot] {
        slots.filter { $0.organization == organization }
    }

    private mutating func evict() {
        // Two rounds meet every slot once unused.
        for _ in 0..<(2 * slots.count) {
            if hand >= slots.count { hand = 0 }
            let slot = slots[hand]
            if !slot.wasUsed { return remove(slot) }
            slot.wasUsed = false
            hand += 1
        }
    }
}

extension DirectoryName {
    /// The digest under which the table keeps the name: two parts are hashed as two parts.
    var joinedDigest: Int {
        guard kind == .username, let slash = bytes.firstIndex(of: UInt8(ascii: "/")) else { return digest }
        let span = bytes.span
        return digestOf(kind, span.extracting(0..<slash), span.extracting(slash + 1..<bytes.count))
    }
}
