// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Synchronization

/// One process's metrics in a shared mapping: a directory of named series and the cells they count in.
///
/// Exactly one process writes a slot (its worker); control reads it, and the supervisor sets its gauges to zero when
/// the worker is dead. The mapping outlives its writer: the successor finds each series by name and counts on, so no
/// counter goes down. A slot stays mapped for the life of the process; handles point into it.
///
/// Layout, in pages: header | directory of `seriesLimit` entries of 256 bytes | `cellLimit` cells of 8 bytes. The file
/// is sparse, so untouched pages cost nothing.
@safe
package final class MetricsSlot: Sendable {
    // Proof: set once in init; memory behind it is reached through atomics, but for directory entries, which are
    // written once by the single writer before the count that reveals them is published with release ordering.
    nonisolated(unsafe) private let base: UnsafeMutableRawPointer
    private let index: Mutex<[String: Int]>

    static let headerSize = 4096
    static let entrySize = 256
    static let magic: UInt64 = 0x5341_4C4C_5953_0001
    /// Series a slot can name; beyond it a metric's `_other` series takes the counts.
    package static let seriesLimit = 4096
    private static let cellLimit = 32_768
    package static let size = headerSize + seriesLimit * entrySize + cellLimit * 8

    /// A slot of private memory: for tests and `--single` without a state directory.
    package convenience init() throws(TelemetryError) {
        try self.init(descriptor: -1)
    }

    /// Maps the file at `path`, making it (mode 0600) when absent; a file of another layout starts again from zero.
    package convenience init(path: String) throws(TelemetryError) {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw TelemetryError(doing: "open \(path)", errno: errno) }
        defer { close(descriptor) }
        guard ftruncate(descriptor, Self.size) == 0 else {
            throw TelemetryError(doing: "size \(path)", errno: errno)
        }
        try self.init(descriptor: descriptor)
    }

    private init(descriptor: CInt) throws(TelemetryError) {
        let sharing = descriptor < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED
        let mapped = unsafe mmap(nil, Self.size, PROT_READ | PROT_WRITE, sharing, descriptor, 0)
        guard let mapped = unsafe mapped, unsafe mapped != UnsafeMutableRawPointer(bitPattern: -1) else {
            throw TelemetryError(doing: "map a metrics slot", errno: errno)
        }
        unsafe self.base = unsafe mapped
        self.index = Mutex([:])
        adopt()
    }

    /// How many series the directory names.
    package var seriesCount: Int {
        unsafe min(Int(clamping: header(1).pointee.load(ordering: .acquiring)), Self.seriesLimit)
    }

    // MARK: Life

    /// A sign of life of the writer: its supervisor compares the number from time to time.
    package func beat() {
        unsafe header(3).pointee.wrappingAdd(1, ordering: .relaxed)
    }

    /// How often the slot's writers have given a sign of life.
    package var beats: UInt64 { unsafe header(3).pointee.load(ordering: .relaxed) }

    // MARK: Series

    /// The counter named by `metric` and its rendered labels, such as `route="api",outcome="admitted"`.
    package func counter(_ metric: Metric, _ labels: String = "") -> Counter {
        precondition(metric.kind == .counter, "\(metric.name) is no counter")
        return unsafe Counter(cell: cells(at: cell(metric, labels)))
    }

    /// The gauge named by `metric` and its rendered labels.
    package func gauge(_ metric: Metric, _ labels: String = "") -> Gauge {
        precondition(metric.kind == .gauge, "\(metric.name) is no gauge")
        return unsafe Gauge(cell: cells(at: cell(metric, labels)))
    }

    /// The histogram named by `metric` and its rendered labels.
    package func histogram(_ metric: Metric, _ labels: String = "") -> Histogram {
        precondition(metric.kind == .histogram, "\(metric.name) is no histogram")
        return unsafe Histogram(cells: cells(at: cell(metric, labels)), bounds: metric.bounds)
    }

    /// Sets every gauge to zero: what a dead worker no longer holds.
    package func zeroGauges() {
        for position in 0..<seriesCount {
            let series = series(at: position)
            guard series.kind == Metric.Kind.gauge.rawValue else { continue }
            unsafe Gauge(cell: cells(at: series.cell)).set(0)
        }
    }

    /// The sum of a metric's series; what is not named counts nothing.
    package func sum(of metric: Metric) -> Int {
        var sum = 0
        forEachSeries { series in
            if series.name == metric.name { sum &+= Int(truncatingIfNeeded: Int64(bitPattern: series.values[0])) }
        }
        return sum
    }

    /// Calls `body` with each series and its cells' values.
    package func forEachSeries(_ body: (SeriesSnapshot) -> Void) {
        for position in 0..<seriesCount {
            let series = series(at: position)
            guard let kind = Metric.Kind(rawValue: series.kind) else { continue }
            var values: [UInt64] = []
            values.reserveCapacity(series.cellCount)
            for offset in 0..<series.cellCount {
                values.append(unsafe cells(at: series.cell + offset).pointee.load(ordering: .relaxed))
            }
            let (name, labels) = Self.split(series.key)
            body(SeriesSnapshot(name: name, labels: labels, kind: kind, values: values))
        }
    }

    // MARK: Directory

    private struct Entry {
        var kind: UInt8
        var cell: Int
        var cellCount: Int
        var key: String
    }

    /// Reads what a former writer left, or starts afresh when the layout is another.
    private func adopt() {
        if unsafe header(0).pointee.load(ordering: .acquiring) != Self.magic {
            unsafe header(1).pointee.store(0, ordering: .relaxed)
            unsafe header(2).pointee.store(0, ordering: .relaxed)
            unsafe header(0).pointee.store(Self.magic, ordering: .releasing)
        }
        index.withLock { index in
            for position in 0..<seriesCount {
                let entry = series(at: position)
                index["\(entry.key)#\(entry.cellCount)"] = entry.cell
            }
        }
    }

    /// The first cell of the series, made when absent; when the slot is full, the metric's `_other` series.
    private func cell(_ metric: Metric, _ labels: String) -> Int {
        let key = "\(metric.name){\(labels)}"
        let count = metric.cellCount
        return index.withLock { index in
            // A series could have been named by this process through another instance of the same slot; one process
            // has one instance, so the dictionary is the truth.
            if let known = index["\(key)#\(count)"] { return known }
            let other = "\(metric.name){\(Metric.overflowLabels)}"
            let isRoomy = seriesCount < Self.seriesLimit - Self.overflowReserve && key.utf8.count <= Self.keyLimit
            let name = isRoomy ? key : other
            if let known = index["\(name)#\(count)"] { return known }
            let cell = append(name, kind: metric.kind, cellCount: count)
            index["\(name)#\(count)"] = cell
            return cell
        }
    }

    /// Entries kept back for the `_other` series of each metric.
    private static let overflowReserve = 256
    private static let keyLimit = entrySize - 16

    private func append(_ key: String, kind: Metric.Kind, cellCount: Int) -> Int {
        let position = seriesCount
        let cell = unsafe Int(clamping: header(2).pointee.load(ordering: .relaxed))
        // Declared metrics times the reserve cannot exceed either limit; cells that would are shared at the end.
        guard position < Self.seriesLimit, cell <= Self.cellLimit - cellCount else {
            return Self.cellLimit - cellCount
        }
        let entry = unsafe base.advanced(by: Self.headerSize + position * Self.entrySize)
        let bytes = Array(key.utf8.prefix(Self.keyLimit))
        unsafe entry.storeBytes(of: UInt32(cell), toByteOffset: 0, as: UInt32.self)
        unsafe entry.storeBytes(of: UInt32(cellCount), toByteOffset: 4, as: UInt32.self)
        unsafe entry.storeBytes(of: UInt16(bytes.count), toByteOffset: 8, as: UInt16.self)
        unsafe entry.storeBytes(of: kind.rawValue, toByteOffset: 10, as: UInt8.self)
        unsafe entry.advanced(by: 16).copyMemory(from: bytes, byteCount: bytes.count)
        for offset in 0..<cellCount {
            unsafe cells(at: cell + offset).pointee.store(0, ordering: .relaxed)
        }
        unsafe header(2).pointee.store(UInt64(cell + cellCount), ordering: .relaxed)
        unsafe header(1).pointee.store(UInt64(position + 1), ordering: .releasing)
        return cell
    }

    /// Reads an entry; a file damaged from outside gives clamped numbers, never an address outside the mapping.
    private func series(at position: Int) -> Entry {
        let entry = unsafe base.advanced(by: Self.headerSize + position * Self.entrySize)
        let count = unsafe min(Int(entry.load(fromByteOffset: 4, as: UInt32.self)), 64)
        let cell = unsafe min(Int(entry.load(fromByteOffset: 0, as: UInt32.self)), Self.cellLimit - count)
        let length = unsafe min(Int(entry.load(fromByteOffset: 8, as: UInt16.self)), Self.keyLimit)
        let kind = unsafe entry.load(fromByteOffset: 10, as: UInt8.self)
        let bytes = unsafe UnsafeRawBufferPointer(start: entry.advanced(by: 16), count: length)
        return unsafe Entry(kind: kind, cell: cell, cellCount: count, key: String(decoding: bytes, as: UTF8.self))
    }

    private func header(_ word: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        unsafe base.advanced(by: word * 8).assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    private func cells(at cell: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        let start = Self.headerSize + Self.seriesLimit * Self.entrySize
        return unsafe base.advanced(by: start + cell * 8).assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    private static func split(_ key: String) -> (name: String, labels: String) {
        guard let brace = key.firstIndex(of: "{") else { return (key, "") }
        return (String(key[..<brace]), String(key[key.index(after: brace)...].dropLast()))
    }
}

/// One series read from a slot.
package struct SeriesSnapshot: Sendable, Equatable {
    package let name: String
    package let labels: String
    package let kind: Metric.Kind
    package let values: [UInt64]
}
