// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// A growable run of bytes with a read and a write position: what a socket fills and a parser eats.
///
/// Layout: `discarded | readable | writable`. Reading moves the front, writing moves the back; when the front meets
/// the back both return to zero, so a drained buffer never moves bytes. Owned by one connection or exchange, freed with
/// it. Never shared: it is not copyable and lives where its owner lives.
///
/// `@usableFromInline` is what lets other modules inline its methods: in a `package` type without it `@inlinable` has
/// no effect, silently (a tenth of a request's own instructions).
@safe
@usableFromInline
package struct ByteBuffer: ~Copyable {
    @usableFromInline internal var base: UnsafeMutableRawPointer?
    /// The number of bytes the present allocation holds.
    @usableFromInline package internal(set) var capacity: Int
    @usableFromInline internal var readIndex = 0
    @usableFromInline internal var writeIndex = 0

    /// An empty buffer; nothing is allocated until the first write unless `capacity` asks for it.
    @inlinable
    package init(capacity: Int = 0) {
        self.capacity = 0
        unsafe self.base = nil
        if capacity > 0 { grow(toHold: capacity) }
    }

    deinit {
        unsafe free(base)
    }

    /// The number of bytes that can be read.
    @inlinable
    package var count: Int {
        @inline(__always) get { writeIndex &- readIndex }
    }

    /// Whether nothing can be read.
    @inlinable
    package var isEmpty: Bool {
        @inline(__always) get { writeIndex == readIndex }
    }

    /// The readable bytes, valid until the next mutation.
    @inlinable
    package var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        @inline(__always)
        get {
            let start = unsafe UnsafeRawPointer(base)?.advanced(by: readIndex).assumingMemoryBound(to: UInt8.self)
            let span = unsafe Span(_unsafeElements: UnsafeBufferPointer(start: start, count: count))
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// Lends the readable bytes: for buffers that are another object's property, whose spans the compiler keeps inside.
    @inlinable
    @inline(__always)
    package func withBytes<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(bytes)
    }

    /// Removes `length` bytes from the front.
    @inlinable
    @inline(__always)
    package mutating func consume(_ length: Int) {
        precondition(length >= 0 && length <= count, "consumed more than was readable")
        readIndex &+= length
        if readIndex == writeIndex {
            readIndex = 0
            writeIndex = 0
        }
    }

    /// Removes everything and keeps the allocation.
    @inlinable
    package mutating func removeAll() {
        readIndex = 0
        writeIndex = 0
    }

    /// Removes everything and gives the allocation back: for connections that go idle.
    package mutating func release() {
        unsafe free(base)
        unsafe base = nil
        capacity = 0
        readIndex = 0
        writeIndex = 0
    }

    /// Appends one byte.
    @inlinable
    @inline(__always)
    package mutating func append(_ byte: UInt8) {
        reserve(1)
        unsafe base.unsafelyUnwrapped.storeBytes(of: byte, toByteOffset: writeIndex, as: UInt8.self)
        writeIndex &+= 1
    }

    /// Appends a copy of `span`.
    @inlinable
    @inline(__always)
    package mutating func append(_ span: Span<UInt8>) {
        let length = span.count
        guard length > 0 else { return }
        reserve(length)
        unsafe span.withUnsafeBufferPointer { source in
            unsafe base.unsafelyUnwrapped.advanced(by: writeIndex)
                .copyMemory(from: source.baseAddress.unsafelyUnwrapped, byteCount: length)
        }
        writeIndex &+= length
    }

    /// Appends a copy of `span` with ASCII letters in lower case.
    package mutating func append(lowercasing span: Span<UInt8>) {
        let length = span.count
        reserve(length)
        for index in 0..<length {
            let byte = span[index]
            let lower = byte &- 0x41 < 26 ? byte | 0x20 : byte
            unsafe base.unsafelyUnwrapped.storeBytes(of: lower, toByteOffset: writeIndex &+ index, as: UInt8.self)
        }
        writeIndex &+= length
    }

    /// Appends the bytes of a literal.
    @inlinable
    @inline(__always)
    package mutating func append(_ literal: StaticString) {
        let length = literal.utf8CodeUnitCount
        guard length > 0 else { return }
        reserve(length)
        unsafe base.unsafelyUnwrapped.advanced(by: writeIndex).copyMemory(from: literal.utf8Start, byteCount: length)
        writeIndex &+= length
    }

    /// Appends the UTF-8 of `text`.
    @inlinable
    package mutating func append(utf8 text: String) {
        append(text.utf8.span)
    }

    /// Appends the bytes of an array.
    @inlinable
    @inline(__always)
    package mutating func append(contentsOf array: [UInt8]) {
        append(array.span)
    }

    /// Appends `value` in decimal.
    package mutating func append(decimal value: Int) {
        if value >= 0, value < 10 { return append(0x30 &+ UInt8(truncatingIfNeeded: value)) }
        if value < 0 { append(UInt8(ascii: "-")) }
        append(digitsOf: value.magnitude)
    }

    /// Divides by a constant only, which costs no division.
    private mutating func append(digitsOf value: UInt) {
        var digits = InlineArray<20, UInt8>(repeating: 0)
        var rest = value
        var start = 20
        repeat {
            start &-= 1
            digits[start] = 0x30 &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
        append(digits.span.extracting(start..<20))
    }

    /// Appends the eight bytes of `word`, lowest first.
    @inlinable
    @inline(__always)
    package mutating func append(word: UInt64) {
        reserve(8)
        unsafe base.unsafelyUnwrapped.storeBytes(of: word.littleEndian, toByteOffset: writeIndex, as: UInt64.self)
        writeIndex &+= 8
    }

    /// Lets `fill` write into at least `minimum` free bytes; it returns how many it wrote, or a value <= 0 for none.
    ///
    /// The one door for `recv` and `SSL_read`; nothing is zeroed first.
    @inlinable
    @discardableResult
    package mutating func write(minimum: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Int) -> Int {
        reserve(minimum)
        let room = unsafe UnsafeMutableRawBufferPointer(
            start: base.unsafelyUnwrapped.advanced(by: writeIndex),
            count: capacity &- writeIndex
        )
        let written = unsafe fill(room)
        if written > 0 {
            precondition(written <= capacity &- writeIndex, "wrote past the end of the buffer")
            writeIndex &+= written
        }
        return written
    }

    /// Makes room for `length` more bytes, moving what is readable to the front before it grows.
    @inlinable
    @inline(__always)
    package mutating func reserve(_ length: Int) {
        if capacity &- writeIndex < length { makeRoom(length) }
    }

    @usableFromInline
    @inline(never)
    internal mutating func makeRoom(_ length: Int) {
        let readable = count
        if readIndex > 0, let start = unsafe base {
            unsafe memmove(start, start.advanced(by: readIndex), readable)
            readIndex = 0
            writeIndex = readable
        }
        if capacity - writeIndex < length { grow(toHold: writeIndex + length) }
    }

    @usableFromInline
    internal mutating func grow(toHold needed: Int) {
        var size = max(capacity, 512)
        while size < needed { size *= 2 }
        guard let moved = unsafe realloc(base, size) else {
            preconditionFailure("out of memory")
        }
        unsafe base = moved
        capacity = size
    }
}
