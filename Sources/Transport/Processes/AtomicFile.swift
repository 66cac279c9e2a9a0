// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Glibc

/// A file that is replaced at one instant: no reader meets half of it, and a crash in between leaves none.
///
/// Blocks, so never on a loop.
package enum AtomicFile {
    /// Puts a file of these bytes in the place of another, with this mode and, where one is named, this owner.
    ///
    /// `isDurable`: it outlives a power cut, its name too.
    package static func replace(
        _ path: String,
        with bytes: [UInt8],
        mode: mode_t = 0o600,
        owner: (user: uid_t, group: gid_t)? = nil,
        isDurable: Bool
    ) throws(SystemError) {
        // Before the old file goes: whatever can fail fails while it is there.
        let folder = isDurable ? try openFolder(of: path) : -1
        defer { if folder >= 0 { close(folder) } }
        // Written under another name first, which is nobody else's: no link is followed.
        let fresh = "\(path).new"
        unsafe unlink(fresh)
        let descriptor = unsafe open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
        guard descriptor >= 0 else { throw SystemError(errno) }
        defer { close(descriptor) }
        do throws(SystemError) {
            try write(bytes, to: descriptor)
            if isDurable, fsync(descriptor) != 0 { throw SystemError(errno) }
            if let owner { try give(descriptor, to: owner) }
            guard unsafe rename(fresh, path) == 0 else { throw SystemError(errno) }
        } catch {
            // Half a file takes room of a disk that has none, and may hold half a secret.
            unsafe unlink(fresh)
            throw error
        }
        // The name of a new file outlives a power cut only once its folder is on disk too.
        if folder >= 0, fsync(folder) != 0 { throw SystemError(errno) }
    }

    /// A file system that lets nobody give files away may have given this one to the right owner already.
    private static func give(_ descriptor: CInt, to owner: (user: uid_t, group: gid_t)) throws(SystemError) {
        guard fchown(descriptor, owner.user, owner.group) != 0 else { return }
        let failure = SystemError(errno)
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_uid == owner.user, status.st_gid == owner.group else {
            throw failure
        }
    }

    private static func write(_ bytes: [UInt8], to descriptor: CInt) throws(SystemError) {
        var start = 0
        while start < bytes.count {
            let written = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress?.advanced(by: start), $0.count - start)
            }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { throw SystemError(written < 0 ? errno : ENOSPC) }
            start += written
        }
    }

    private static func openFolder(of path: String) throws(SystemError) -> CInt {
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError(errno) }
        return descriptor
    }
}
