// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Synchronization

/// One rising number in a slot.
///
/// A handle: copying it copies an address, and the slot must outlive it.
///
/// Written by the slot's worker alone, so a relaxed load and store is enough; read by anyone.
@safe
package struct Counter: Sendable {
    // Proof: the address points into a slot's shared mapping, which is never unmapped while the process lives, and
    // every access goes through an atomic.
    nonisolated(unsafe) let cell: UnsafeMutablePointer<Atomic<UInt64>>

    init(cell: UnsafeMutablePointer<Atomic<UInt64>>) {
        unsafe self.cell = unsafe cell
    }

    /// Adds `amount`.
    @inline(__always)
    package func increment(by amount: UInt64 = 1) {
        unsafe cell.pointee.store(cell.pointee.load(ordering: .relaxed) &+ amount, ordering: .relaxed)
    }

    /// The present value.
    package var value: UInt64 {
        unsafe cell.pointee.load(ordering: .relaxed)
    }
}

/// One number that goes up and down.
///
/// A handle, as `Counter`.
@safe
package struct Gauge: Sendable {
    // Proof: as for `Counter.cell`.
    nonisolated(unsafe) let cell: UnsafeMutablePointer<Atomic<UInt64>>

    init(cell: UnsafeMutablePointer<Atomic<UInt64>>) {
        unsafe self.cell = unsafe cell
    }

    /// Adds `amount`, which may be negative.
    @inline(__always)
    package func add(_ amount: Int) {
        let next = unsafe Int(bitPattern: UInt(cell.pointee.load(ordering: .relaxed))) &+ amount
        set(next)
    }

    /// Replaces the value.
    @inline(__always)
    package func set(_ value: Int) {
        unsafe cell.pointee.store(UInt64(UInt(bitPattern: value)), ordering: .relaxed)
    }

    /// The present value.
    package var value: Int {
        unsafe Int(bitPattern: UInt(cell.pointee.load(ordering: .relaxed)))
    }
}

/// Counts of durations in fixed buckets, with their sum.
///
/// A handle, as `Counter`.
@safe
package struct Histogram: Sendable {
    // Proof: as for `Counter.cell`; `bounds.count + 2` cells follow the address.
    nonisolated(unsafe) let cells: UnsafeMutablePointer<Atomic<UInt64>>
    let bounds: [UInt64]

    init(cells: UnsafeMutablePointer<Atomic<UInt64>>, bounds: [UInt64]) {
        unsafe self.cells = unsafe cells
        self.bounds = bounds
    }

    /// Counts one duration, in nanoseconds.
    package func record(nanoseconds: UInt64) {
        var bucket = 0
        while bucket < bounds.count, nanoseconds > bounds[bucket] { bucket &+= 1 }
        unsafe Counter(cell: cells.advanced(by: bucket)).increment()
        unsafe Counter(cell: cells.advanced(by: bounds.count &+ 1)).increment(by: nanoseconds)
    }
}
