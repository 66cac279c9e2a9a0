// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// A folder of its own, removed with all it holds at the end.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        // Memory rather than a disk: what is tested is what the processes do, not how fast others let a disk sync.
        let parent = unsafe access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
        var template = [CChar]((parent + "/sallyport-store-XXXXXX").utf8CString)
        let made = unsafe template.withUnsafeMutableBufferPointer { unsafe mkdtemp($0.baseAddress.unsafelyUnwrapped) }
        guard let path = unsafe made.map({ unsafe String(cString: $0) }) else { throw RedisServerProblem.notSpawned }
        self.path = path
    }

    deinit {
        Self.remove(path)
    }

    /// Makes `site.pem` and `site.key`, its own authority.
    @concurrent
    func makeCertificate(for name: String) async throws {
        let process = try Self.spawn([
            "/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-days", "2", "-subj", "/CN=\(name)", "-addext", "subjectAltName=DNS:\(name)",
            "-keyout", path + "/site.key", "-out", path + "/site.pem",
        ])
        var status: CInt = 0
        unsafe waitpid(process, &status, 0)
        guard status == 0 else { throw RedisServerProblem.notReady }
    }

    /// Starts a program with its output thrown away.
    static func spawn(_ arguments: [String]) throws -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        var texts: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) }
        unsafe texts.append(nil)
        defer { unsafe texts.forEach { unsafe free($0) } }
        var process: pid_t = 0
        guard unsafe posix_spawn(&process, arguments[0], &actions, nil, texts, environ) == 0 else {
            throw RedisServerProblem.notSpawned
        }
        return process
    }

    private static func remove(_ path: String) {
        if let folder = unsafe opendir(path) {
            var names: [String] = []
            while let entry = unsafe readdir(folder) {
                let name = unsafe withUnsafePointer(to: entry.pointee.d_name) {
                    unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
                }
                if name != "." && name != ".." { names.append(name) }
            }
            unsafe closedir(folder)
            for name in names where unsafe unlink(path + "/" + name) != 0 { remove(path + "/" + name) }
        }
        unsafe rmdir(path)
    }
}
