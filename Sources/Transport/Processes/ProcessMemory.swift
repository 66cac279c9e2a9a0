// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// The resident memory of this process, read often enough that a file is kept open for it.
///
/// Isolated to the Reactor.
@Reactor
@safe
package final class ProcessMemory {
    private let descriptor: CInt
    private let pageSize = max(4096, sysconf(CInt(_SC_PAGESIZE)))

    /// Opens what the kernel tells of this process.
    package init() {
        descriptor = unsafe open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// The bytes in memory now that are this process's own; nil where the kernel does not say.
    ///
    /// Pages of files and of shared memory (the program itself, the counters) are not counted: no shedding frees them.
    package func residentBytes() -> Int? {
        unsafe withUnsafeTemporaryAllocation(byteCount: 128, alignment: 8) { scratch in
            let count = unsafe pread(descriptor, scratch.baseAddress, scratch.count, 0)
            guard count > 0 else { return nil }
            let text = unsafe String(decoding: scratch[..<count], as: UTF8.self)
            let words = text.split(separator: " ")
            guard words.count > 2, let resident = Int(words[1]), let shared = Int(words[2]) else { return nil }
            return max(0, resident - shared) * pageSize
        }
    }

    /// Has the heap join the small blocks that were freed lately.
    ///
    /// It puts that off until the next large block, and thousands of small ones then take a millisecond at once.
    package static func joinFreedBlocks() {
        let large = UnsafeMutableRawPointer.allocate(byteCount: 80 << 10, alignment: 16)
        unsafe large.deallocate()
    }

    /// What this machine, or the control group the process is in, has of memory in all.
    package static func available() -> Int? {
        var least = number(in: "/sys/fs/cgroup/memory.max")
        if let older = number(in: "/sys/fs/cgroup/memory/memory.limit_in_bytes") { least = min(least ?? older, older) }
        let machine = sysconf(CInt(_SC_PHYS_PAGES)) * sysconf(CInt(_SC_PAGESIZE))
        guard machine > 0 else { return least }
        return min(least ?? machine, machine)
    }

    /// The one number of a small file; nil where there is none, or where it says `max`.
    private static func number(in path: String) -> Int? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return unsafe withUnsafeTemporaryAllocation(byteCount: 64, alignment: 8) { scratch in
            let count = unsafe read(descriptor, scratch.baseAddress, scratch.count)
            guard count > 0 else { return nil }
            return Int(unsafe String(decoding: scratch[..<count], as: UTF8.self).prefix { $0.isNumber })
        }
    }
}
