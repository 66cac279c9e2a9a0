// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Synchronization
import Telemetry

/// How much of the machine a reading of the configuration looks at, beside the files that it takes something from.
package enum Surroundings: Sendable {
    /// Nothing: the text was looked at when it was accepted.
    case unseen
    /// What a reload opens anew.
    case changing
    /// All that a start makes, opens and binds.
    case starting
}

/// Looks at the places where a start or a reload makes or opens something: what would fail there is told with the line that names it.
///
/// Nothing is made and nothing is changed. Blocks, so never on a loop.
enum Places {
    /// Why an access log cannot be written to a path, and what helps; nil when it can, as far as this user sees.
    static func logProblem(_ path: String) -> String? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            return errno == ENOENT ? parentProblem(path, asWhoActs: true) : systemMessage(errno)
        }
        switch status.st_mode & S_IFMT {
        case S_IFDIR: return "it is a folder; name a file in it, such as \(path)/access.log"
        case S_IFSOCK: return "it is a socket; name a file, or stdout"
        case S_IFIFO:
            return hasReader(path) ? nil : "it is a pipe that nobody reads; start its reader first, or name a file"
        default:
            return may(W_OK, path, asWhoActs: true)
                ? nil : "\(systemMessage(errno)); let the gateway's user write to it"
        }
    }

    /// Why the state directory cannot be made or used, and what helps.
    static func folderProblem(_ path: String) -> String? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            return errno == ENOENT ? parentProblem(path) : systemMessage(errno)
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            return "it is no folder; name one, or a path where none is yet"
        }
        return unsafe access(path, R_OK | W_OK | X_OK) == 0
            ? nil : "\(systemMessage(errno)); let the gateway's user read and write it"
    }

    /// Why no socket can be made at a path; `state`, where the state directory is, is made when it is missing.
    static func socketProblem(_ path: String, state: String) -> String? {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else {
            guard errno == ENOENT else { return systemMessage(errno) }
            return parent(of: path) == plain(state) ? nil : parentProblem(path)
        }
        return status.st_mode & S_IFMT == S_IFSOCK ? nil : notASocket
    }

    /// What is said of a path where something lies that is no socket: it is not ours to remove.
    static let notASocket = "there is something else than a socket; name a path where nothing is, or remove it"

    /// Why an account cannot be dropped to; only root drops to one.
    static func accountProblem(_ name: String) -> String? {
        do throws(ProcessFault) {
            _ = try Account.toDropTo(name)
            return nil
        } catch {
            return ([error.message] + error.nextSteps).joined(separator: "; ")
        }
    }

    /// Why this machine cannot listen on an address, whoever has its ports now.
    static func addressProblem(_ address: ConfiguredAddress) -> String? {
        guard case .tcp(let host, _) = address else { return nil }
        do throws(ProcessFault) {
            var any = try BindAddress(host: host, port: 0)
            close(try any.bind(reusePort: true))
            return nil
        } catch {
            return
                "this machine cannot listen there (\(error.message)); name one of its addresses, or 0.0.0.0 or [::] for all"
        }
    }

    private static func parentProblem(_ path: String, asWhoActs: Bool = false) -> String? {
        let parent = parent(of: path)
        var status = stat()
        guard unsafe stat(parent, &status) == 0 else {
            return "the folder \(parent) cannot be used (\(systemMessage(errno))); make it, or name another"
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { return "\(parent) is no folder; name another path" }
        return may(W_OK | X_OK, parent, asWhoActs: asWhoActs)
            ? nil : "nothing can be made in \(parent) (\(systemMessage(errno))); let the gateway's user write to it"
    }

    /// Workers open the log, with the rights that are lent here; what the supervisor makes it makes as who it really is.
    private static func may(_ mode: CInt, _ path: String, asWhoActs: Bool) -> Bool {
        unsafe faccessat(AT_FDCWD, path, mode, asWhoActs ? AT_EACCESS : 0) == 0
    }

    private static func parent(of path: String) -> String {
        let path = plain(path)
        let cut = path.lastIndex(of: "/") ?? path.startIndex
        return cut == path.startIndex ? "/" : String(path[..<cut])
    }

    /// An absolute path without the slashes that say nothing: doubled ones, and one at the end.
    private static func plain(_ path: String) -> String {
        "/" + path.split(separator: "/").joined(separator: "/")
    }

    /// A reader that reads to the end would end if what was opened here to find it were closed before the log is opened.
    private static let held = Mutex<CInt>(-1)

    private static func hasReader(_ pipe: String) -> Bool {
        let descriptor = unsafe open(pipe, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        hold(descriptor)
        return descriptor >= 0
    }

    /// Closes what was opened to find a log's reader: the log is open by now, or never will be.
    static func letGo() {
        hold(-1)
    }

    private static func hold(_ descriptor: CInt) {
        let former = held.withLock { held in
            defer { held = descriptor }
            return held
        }
        if former >= 0 { close(former) }
    }
}

extension SectionReader {
    /// Notes what keeps the gateway from listening on an address of a key.
    func look(at address: ConfiguredAddress?, of name: String) {
        guard context.surroundings == .starting, let address, let problem = Places.addressProblem(address) else {
            return
        }
        report(problem, at: name, found: AddressText.write(address), isOfThisMachine: true)
    }
}
