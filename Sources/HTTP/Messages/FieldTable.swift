// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

/// The fields of one head or trailer section, in order, in the sender's spelling, over one copy of its bytes.
///
/// Reused from message to message: `reset()` keeps both allocations where they are of usual size, so a busy connection
/// allocates nothing. What is not there is known without a search; what is there is found by a look at the few slots before it. An index of first
/// places would be as large as all the rest, and the compiler copies a head to the stack for most calls that read it:
/// without one a request costs a thousand instructions less. Owned by one head; not shared.
@usableFromInline
package struct FieldTable: ~Copyable {
    /// Where one field lies in `storage`.
    @usableFromInline
    struct Slot: BitwiseCopyable {
        @usableFromInline var start: UInt32 = 0
        @usableFromInline var valueStart: UInt32 = 0
        @usableFromInline var valueEnd: UInt32 = 0
        @usableFromInline var end: UInt32 = 0
        @usableFromInline var nameLength: UInt16 = 0
        @usableFromInline var known: KnownField = .other
        @usableFromInline var isDropped = false

        init() {}
    }

    /// How many fields there are and which: nothing beyond it can be read.
    @usableFromInline
    struct Tally: BitwiseCopyable {
        @usableFromInline var count = 0
        @usableFromInline var present: KnownFieldSet = []
        @usableFromInline var repeated: KnownFieldSet = []

        init() {}
    }

    /// More fields than this cannot be held, whatever the limits say.
    package static let mostFields = 250
    /// Longer names find no room in a slot; no limit of a head may be so high as to let one in.
    static let longestName = Int(UInt16.max)

    /// The head as it came; start line included.
    var storage: ByteBuffer
    @usableFromInline var slots: [Slot]
    @usableFromInline var tally = Tally()

    /// An empty table; nothing is allocated until it is filled.
    package init() {
        storage = ByteBuffer()
        slots = []
    }

    /// Forgets everything and keeps the room, but what few heads need: a thousand tables wait for the next message.
    package mutating func reset() {
        if storage.capacity > Self.keptCapacity { storage.release() } else { storage.removeAll() }
        tally = Tally()
    }

    /// So many bytes hold nearly every head.
    private static let keptCapacity = 8 << 10

    // MARK: Reading

    /// The number of fields, dropped ones included.
    @inlinable
    package var count: Int { tally.count }

    /// The room for a section's bytes.
    package var capacity: Int { storage.capacity }

    /// The bytes that are kept of the section.
    package var byteCount: Int { storage.count }

    /// The known fields that occur.
    @inlinable
    package var present: KnownFieldSet { tally.present }

    /// The known fields that occur more than once.
    @inlinable
    package var repeated: KnownFieldSet { tally.repeated }

    /// The name at `index`, as spelled by its sender.
    @_lifetime(borrow self)
    package func name(at index: Int) -> Span<UInt8> {
        let slot = slots[index]
        return storage.bytes.extracting(Int(slot.start)..<Int(slot.start) + Int(slot.nameLength))
    }

    /// The value at `index`, without surrounding whitespace.
    @_lifetime(borrow self)
    package func value(at index: Int) -> Span<UInt8> {
        let slot = slots[index]
        return storage.bytes.extracting(Int(slot.valueStart)..<Int(slot.valueEnd))
    }

    /// The whole line at `index` with its CRLF, as it came.
    @_lifetime(borrow self)
    package func line(at index: Int) -> Span<UInt8> {
        let slot = slots[index]
        return storage.bytes.extracting(Int(slot.start)..<Int(slot.end))
    }

    /// Which known field stands at `index`.
    @inlinable
    package func field(at index: Int) -> KnownField {
        slots[index].known
    }

    /// Whether the field at `index` is not to be forwarded: named by `Connection`, or taken out by a rule.
    package func isDropped(at index: Int) -> Bool {
        slots[index].isDropped
    }

    /// Keeps the field at `index` from being forwarded; readers still see it.
    package mutating func drop(at index: Int) {
        slots[index].isDropped = true
    }

    /// Keeps every field of this name from being forwarded, letters of either case alike.
    package mutating func drop(named name: Span<UInt8>) {
        var start = 0
        while let index = firstIndex(named: name, from: start) {
            drop(at: index)
            start = index + 1
        }
    }

    /// Whether `field` occurs.
    @inlinable
    package func contains(_ field: KnownField) -> Bool {
        present.contains(field)
    }

    /// Whether `field` occurs more than once.
    @inlinable
    package func isRepeated(_ field: KnownField) -> Bool {
        repeated.contains(field)
    }

    /// The place of the first `field`.
    @inlinable
    @inline(__always)
    package func firstIndex(of field: KnownField) -> Int? {
        guard present.contains(field) else { return nil }
        var index = 0
        while index < count, slots[index].known != field { index &+= 1 }
        return index < count ? index : nil
    }

    /// The value of the first `field`; ask `isRepeated` where a second one would matter.
    @_lifetime(borrow self)
    package func first(_ field: KnownField) -> Span<UInt8>? {
        guard let index = firstIndex(of: field) else { return nil }
        let slot = slots[index]
        return storage.bytes.extracting(Int(slot.valueStart)..<Int(slot.valueEnd))
    }

    /// The place of the first field called `name` at or after `start`, letters of either case alike.
    package func firstIndex(named name: Span<UInt8>, from start: Int = 0) -> Int? {
        var index = start
        while index < count {
            if self.name(at: index).equalsIgnoringCase(name) { return index }
            index += 1
        }
        return nil
    }

    // MARK: Filling

    /// Adds a field whose name and value are known to be well-formed: our own, or one HTTP/2 has checked.
    package mutating func append(name: Span<UInt8>, value: Span<UInt8>) {
        var slot = Slot()
        slot.start = UInt32(storage.count)
        slot.nameLength = UInt16(name.count)
        slot.known = KnownField(name)
        storage.append(name)
        storage.append(": ")
        slot.valueStart = UInt32(storage.count)
        storage.append(value)
        slot.valueEnd = UInt32(storage.count)
        storage.append("\r\n")
        slot.end = UInt32(storage.count)
        var grown = tally
        record(slot, &grown)
        tally = grown
    }

    /// Takes note of a field whose bytes will be in `storage`; it can be read once `tally` is committed.
    @inline(__always)
    mutating func record(_ slot: Slot, _ tally: inout Tally) {
        let index = tally.count
        if index == slots.count { slots.append(slot) } else { slots[index] = slot }
        if slot.known != .other {
            if tally.present.contains(slot.known) {
                tally.repeated.insert(slot.known)
            } else {
                tally.present.insert(slot.known)
            }
        }
        tally.count &+= 1
    }

    /// Keeps the bytes of a section and makes the fields recorded in it readable.
    ///
    /// Until then the table reads as empty, so that a head cut off half-way can be asked about without harm.
    mutating func commit(_ bytes: Span<UInt8>, _ tally: Tally) {
        storage.append(bytes)
        self.tally = tally
    }
}
