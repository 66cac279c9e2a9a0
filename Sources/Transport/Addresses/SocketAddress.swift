// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// Where a socket listens or connects: an address and port, or a Unix path.
package enum SocketAddress: Hashable, Sendable, CustomStringConvertible {
    case ip(IPAddress, port: UInt16)
    case unix(path: String)

    /// Reads `1.2.3.4:80`, `[::1]:80` or `unix:path`; nil for anything else, names included.
    package init?(parsing text: String) {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst(5))
            guard (1...107).contains(path.utf8.count), !path.utf8.contains(0) else { return nil }
            self = .unix(path: path)
            return
        }
        guard let (host, port) = SocketAddress.split(text), let address = IPAddress(parsing: host) else { return nil }
        self = .ip(address, port: port)
    }

    /// Splits `host:port` at the last colon and takes the brackets off; the host may be a name.
    package static func split(_ text: String) -> (host: String, port: UInt16)? {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let digits = text[text.index(after: colon)...]
        guard (1...5).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = UInt16(digits)
        else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("[") {
            guard host.hasSuffix("]") else { return nil }
            host = host.dropFirst().dropLast()
            guard host.contains(":") else { return nil }
        } else if host.contains(":") {
            return nil
        }
        return host.isEmpty ? nil : (String(host), port)
    }

    /// The address part, nil for a Unix path.
    package var ipAddress: IPAddress? {
        if case .ip(let address, _) = self { address } else { nil }
    }

    /// The port, nil for a Unix path.
    package var port: UInt16? {
        if case .ip(_, let port) = self { port } else { nil }
    }

    /// The form that `init(parsing:)` reads.
    package var description: String {
        switch self {
        case .ip(let address, let port):
            address.family == .v4 ? "\(address):\(port)" : "[\(address)]:\(port)"
        case .unix(let path):
            "unix:\(path)"
        }
    }

    /// With whom a client of this address takes turns.
    var lane: UInt8 {
        guard case .ip(let address, _) = self else { return 0 }
        return address.lane
    }

    var family: CInt {
        switch self {
        case .ip(let address, _): address.family == .v4 ? AF_INET : AF_INET6
        case .unix: AF_UNIX
        }
    }

    /// Lends the address as the kernel wants it.
    func withSockaddr<T>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> T) -> T {
        var storage = sockaddr_storage()
        let length = unsafe withUnsafeMutableBytes(of: &storage) { raw in unsafe fill(raw) }
        return unsafe withUnsafePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, socklen_t(length)) }
        }
    }

    private func fill(_ raw: UnsafeMutableRawBufferPointer) -> Int {
        switch self {
        case .ip(let address, let port) where address.family == .v4:
            var v4 = sockaddr_in()
            v4.sin_family = sa_family_t(AF_INET)
            v4.sin_port = port.bigEndian
            v4.sin_addr.s_addr = UInt32(truncatingIfNeeded: address.low).bigEndian
            unsafe raw.storeBytes(of: v4, as: sockaddr_in.self)
            return MemoryLayout<sockaddr_in>.size
        case .ip(let address, let port):
            var v6 = sockaddr_in6()
            v6.sin6_family = sa_family_t(AF_INET6)
            v6.sin6_port = port.bigEndian
            v6.sin6_addr = address.in6
            unsafe raw.storeBytes(of: v6, as: sockaddr_in6.self)
            return MemoryLayout<sockaddr_in6>.size
        case .unix(let path):
            unsafe raw.storeBytes(of: sa_family_t(AF_UNIX), as: sa_family_t.self)
            let bytes = Array(path.utf8.prefix(107))
            unsafe UnsafeMutableRawBufferPointer(rebasing: raw[2...]).copyBytes(from: bytes)
            return 2 + bytes.count + 1
        }
    }

    /// Reads what accept or getsockname gave; nil for other families.
    init?(_ storage: sockaddr_storage, length: socklen_t) {
        let family = CInt(storage.ss_family)
        let parsed: SocketAddress? = unsafe withUnsafeBytes(of: storage) { raw in
            switch family {
            case AF_INET:
                let v4 = unsafe raw.load(as: sockaddr_in.self)
                return .ip(IPAddress(v4: UInt32(bigEndian: v4.sin_addr.s_addr)), port: UInt16(bigEndian: v4.sin_port))
            case AF_INET6:
                let v6 = unsafe raw.load(as: sockaddr_in6.self)
                return .ip(IPAddress(v6.sin6_addr), port: UInt16(bigEndian: v6.sin6_port))
            case AF_UNIX:
                let name = unsafe raw[2..<max(2, min(Int(length), 110))].prefix { $0 != 0 }
                return .unix(path: unsafe String(decoding: name, as: UTF8.self))
            default:
                return nil
            }
        }
        guard let parsed else { return nil }
        self = parsed
    }
}
