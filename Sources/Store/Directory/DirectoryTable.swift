// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Credentials

/// Apps by their names, bounded: when full, what was not used for a while makes room.
///
/// Open addressing over a power of two at least twice the count: a look-up hashes once, compares the name it finds and
/// allocates nothing.
struct DirectoryTable {
    private struct Place {
        var digest: UInt64 = 0
        /// nil: free.
        var slot: DirectorySlot?
        /// The name that stands here: beside its slot, so that comparing it is one step.
        var name = DirectoryName(.record, "")
    }

    private let digest = NameDigest()
    private var places = [Place](repeating: Place(), count: 64)
    private var placeCount = 0
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
        let wanted = digest.of(kind, name)
        // Borrowed, so that looking at a place counts no reference.
        let places = places.span
        var at = Int(truncatingIfNeeded: wanted) & (places.count &- 1)
        while places[at].slot != nil {
            if places[at].digest == wanted, places[at].name.equals(kind, name) {
                let slot = places[at].slot
                if let slot, !slot.wasUsed { slot.wasUsed = true }
                return slot
            }
            at = (at &+ 1) & (places.count &- 1)
        }
        return nil
    }

    /// The app of a name in two parts, kept joined by a slash.
    func find(_ kind: DirectoryKind, _ first: Span<UInt8>, _ second: Span<UInt8>) -> DirectorySlot? {
        let wanted = digest.of(kind, first, second)
        var at = Int(truncatingIfNeeded: wanted) & (places.count - 1)
        while let slot = places[at].slot {
            if places[at].digest == wanted, places[at].name.equals(kind, first, second) {
                slot.wasUsed = true
                return slot
            }
            at = (at + 1) & (places.count - 1)
        }
        return nil
    }

    /// Adds an app under all its names, replacing the same record; a name that was another's is this one's from now on.
    mutating func insert(_ slot: DirectorySlot) {
        if let old = find(.record, slot.record.utf8.span) { remove(old) }
        if slots.count >= capacity { evict() }
        slot.position = slots.count
        slots.append(slot)
        for index in slot.names.indices { place(slot, under: index) }
    }

    mutating func remove(_ slot: DirectorySlot) {
        guard slot.position < slots.count, slots[slot.position] === slot else { return }
        for index in slot.names.indices {
            if let at = place(of: slot.names[index]), places[at].slot === slot { clear(at) }
        }
        let last = slots.removeLast()
        if last !== slot {
            slots[slot.position] = last
            last.position = slot.position
        }
    }

    mutating func removeAll() {
        places = [Place](repeating: Place(), count: 64)
        placeCount = 0
        slots.removeAll()
        hand = 0
    }

    private mutating func place(_ slot: DirectorySlot, under index: Int) {
        if let at = place(of: slot.names[index]) {
            places[at].slot = slot
            places[at].name = slot.names[index]
            return
        }
        if (placeCount + 1) * 2 > places.count { grow() }
        put(Place(digest: slot.names[index].digest(digest), slot: slot, name: slot.names[index]))
        placeCount += 1
    }

    /// Where a name stands.
    private func place(of name: DirectoryName) -> Int? {
        let wanted = name.digest(digest)
        var at = Int(truncatingIfNeeded: wanted) & (places.count - 1)
        while places[at].slot != nil {
            if places[at].digest == wanted, places[at].name == name { return at }
            at = (at + 1) & (places.count - 1)
        }
        return nil
    }

    private mutating func put(_ place: Place) {
        var at = Int(truncatingIfNeeded: place.digest) & (places.count - 1)
        while places[at].slot != nil { at = (at + 1) & (places.count - 1) }
        places[at] = place
    }

    /// Frees a place; what stands after it moves up, so that no search ends too early.
    private mutating func clear(_ index: Int) {
        placeCount -= 1
        let mask = places.count - 1
        var hole = index
        places[hole] = Place()
        var at = (hole + 1) & mask
        while places[at].slot != nil {
            let home = Int(truncatingIfNeeded: places[at].digest) & mask
            if (at - home) & mask >= (at - hole) & mask {
                places[hole] = places[at]
                places[at] = Place()
                hole = at
            }
            at = (at + 1) & mask
        }
    }

    private mutating func grow() {
        let old = places
        places = [Place](repeating: Place(), count: old.count * 2)
        for place in old where place.slot != nil { put(place) }
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
