// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import CLinux
import Glibc

/// Memory that several processes see: a memfd, or a file, mapped shared.
@safe
package final class SharedMapping: Sendable {
    // The mapping's address never changes; what is done with the bytes is for atomics of those who borrow them.
    private nonisolated(unsafe) let base: UnsafeMutableRawPointer
    /// The number of bytes mapped.
    package let byteCount: Int
    /// The descriptor to pass to a child, -1 for a mapping made from a file.
    package let descriptor: CInt

    /// New anonymous shared memory of `byteCount` zero bytes; `name` shows in /proc.
    package convenience init(name: String, byteCount: Int) throws(SystemError) {
        let descriptor = unsafe sp_memfd_create(name)
        guard descriptor >= 0 else { throw SystemError(errno) }
        guard ftruncate(descriptor, off_t(byteCount)) == 0 else {
            let error = SystemError(errno)
            close(descriptor)
            throw error
        }
        try self.init(adopting: descriptor, byteCount: byteCount)
    }

    /// Maps a descriptor that was passed, and owns it.
    package init(adopting descriptor: CInt, byteCount: Int) throws(SystemError) {
        let mapped = unsafe mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
        guard let mapped = unsafe mapped, unsafe mapped != MAP_FAILED else {
            let error = SystemError(errno)
            close(descriptor)
            throw error
        }
        unsafe base = mapped
        self.byteCount = byteCount
        self.descriptor = descriptor
    }

    deinit {
        unsafe munmap(base, byteCount)
        close(descriptor)
    }

    /// Lends the memory; the pointer must not outlive the mapping.
    package func withBytes<T>(_ body: (UnsafeMutableRawBufferPointer) -> T) -> T {
        unsafe body(UnsafeMutableRawBufferPointer(start: base, count: byteCount))
    }
}
