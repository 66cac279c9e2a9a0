// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// Why a name gave no address.
package enum ResolutionFailure: Error, Equatable, Sendable {
    case unknownName
    case deadlinePassed
    /// The resolver could not answer now; asking again may help.
    case unavailable(String)
}

/// Turns names into addresses on the blocking pool, by the system's own rules.
@Reactor
package final class Resolver {
    private let loop: EventLoop
    private let pool: BlockingPool

    package init(loop: EventLoop, pool: BlockingPool) {
        self.loop = loop
        self.pool = pool
    }

    /// The addresses of `host` with `port`, at least one; an address written out is returned without asking.
    package func resolve(
        _ host: String,
        port: UInt16,
        deadline: Duration = .seconds(5)
    ) async throws(ResolutionFailure) -> [SocketAddress] {
        if let address = IPAddress(parsing: host) { return [.ip(address, port: port)] }
        let pool = pool
        let answer = await loop.value(within: deadline) {
            await pool.run { Resolver.ask(host, port) }
        }
        guard let answer else { throw .deadlinePassed }
        return try answer.get()
    }

    private nonisolated static func ask(_ host: String, _ port: UInt16) -> Result<[SocketAddress], ResolutionFailure> {
        guard !host.isEmpty, !host.utf8.contains(0) else { return .failure(.unknownName) }
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        unsafe hints.ai_flags = AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(host, nil, &hints, &list)
        defer { unsafe freeaddrinfo(list) }
        guard code == 0 else {
            if code == EAI_NONAME || code == EAI_NODATA { return .failure(.unknownName) }
            return .failure(.unavailable(unsafe String(cString: gai_strerror(code))))
        }
        var addresses: [SocketAddress] = []
        var entry = unsafe list
        while let present = unsafe entry {
            if let address = unsafe SocketAddress(present.pointee.ai_addr, present.pointee.ai_addrlen),
                let ip = address.ipAddress, !addresses.contains(.ip(ip, port: port))
            {
                addresses.append(.ip(ip, port: port))
            }
            unsafe entry = present.pointee.ai_next
        }
        return addresses.isEmpty ? .failure(.unknownName) : .success(addresses)
    }
}

/// The answer of getaddrinfo for a name that has no address of the wanted kind; Swift does not see the macro.
private let EAI_NODATA: CInt = -5

extension SocketAddress {
    fileprivate init?(_ pointer: UnsafeMutablePointer<sockaddr>?, _ length: socklen_t) {
        guard let pointer = unsafe pointer, Int(length) <= MemoryLayout<sockaddr_storage>.size else { return nil }
        var storage = sockaddr_storage()
        unsafe withUnsafeMutableBytes(of: &storage) { raw in
            unsafe raw.copyMemory(from: UnsafeRawBufferPointer(start: pointer, count: Int(length)))
        }
        self.init(storage, length: length)
    }
}
