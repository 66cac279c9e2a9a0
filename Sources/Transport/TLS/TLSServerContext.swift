// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import COpenSSL

/// The TLS side of a listener: certificates by server name, protocols, ticket keys.
///
/// Replaced in place by `reload`; connections that are open keep what they began with. Isolated to the Reactor.
@Reactor
@safe
package final class TLSServerContext {
    /// Sealing keys of session tickets; nil disables resumption.
    ///
    /// May be exchanged at any time.
    package var ticketKeys: TicketKeys? {
        didSet { applyTicketKeys() }
    }
    /// The identities in use and the names each answers to, for logs and the admin's view.
    package private(set) var serverNames: [(identity: String, names: [String])] = []

    private var contexts: [ServerSideContext] = []
    private var exact: [String: Int] = [:]
    private var wildcard: [String: Int] = [:]
    private var fallback: Int?
    /// ALPN names, each behind its length, in order of preference.
    private var protocols: [UInt8] = []

    /// Reads certificates and keys; any doubt is a failure that names the identity.
    package init(_ settings: TLSServerSettings, ticketKeys: TicketKeys? = nil) throws(TLSFailure) {
        self.ticketKeys = ticketKeys
        try reload(settings)
    }

    /// Reads as `init` does, and calls `pause` between two identities: each takes a good part of a millisecond.
    package init(
        _ settings: TLSServerSettings,
        ticketKeys: TicketKeys?,
        pause: @Reactor () async -> Void
    ) async throws(TLSFailure) {
        self.ticketKeys = ticketKeys
        var read = ReadIdentities()
        for source in settings.identities {
            try read.add(source, settings, owner: self)
            await pause()
        }
        try take(read, settings)
    }

    /// Makes new connections use `settings`; on failure everything stays as it was.
    package func reload(_ settings: TLSServerSettings) throws(TLSFailure) {
        var read = ReadIdentities()
        for source in settings.identities { try read.add(source, settings, owner: self) }
        try take(read, settings)
    }

    /// What was made of the identities so far.
    @Reactor
    private struct ReadIdentities {
        var contexts: [ServerSideContext] = []
        var names: [(identity: String, names: [String])] = []

        mutating func add(
            _ source: TLSServerSettings.Identity,
            _ settings: TLSServerSettings,
            owner: TLSServerContext
        ) throws(TLSFailure) {
            let identity = try TLSIdentity(source)
            contexts.append(try ServerSideContext(identity, settings, owner: owner))
            names.append((source.name, identity.serverNames()))
        }
    }

    private func take(_ read: ReadIdentities, _ settings: TLSServerSettings) throws(TLSFailure) {
        let protocols = try ProtocolNames.wire(settings.applicationProtocols)
        var fallback: Int?
        if let name = settings.defaultIdentity {
            fallback = settings.identities.firstIndex { $0.name == name }
            if fallback == nil { throw TLSFailure(.unusableSetting, detail: "no identity is named \(name)") }
        }
        guard !read.contexts.isEmpty else { throw TLSFailure(.unusableSetting, detail: "no certificate") }
        contexts = read.contexts
        self.protocols = protocols
        self.fallback = fallback
        serverNames = read.names
        indexNames()
        applyTicketKeys()
    }

    private func indexNames() {
        exact = [:]
        wildcard = [:]
        for (index, entry) in serverNames.enumerated() {
            for name in entry.names {
                if name.hasPrefix("*.") {
                    let parent = String(name.dropFirst(2))
                    if wildcard[parent] == nil { wildcard[parent] = index }
                } else if exact[name] == nil {
                    exact[name] = index
                }
            }
        }
    }

    private func applyTicketKeys() {
        for context in contexts { context.allowTickets(ticketKeys != nil) }
    }

    /// What it holds of its identities: to be freed piece by piece where it ends.
    package var parts: Parts { Parts(contexts: contexts) }

    /// Holds the identities of a context that may end meanwhile.
    @Reactor
    package struct Parts {
        fileprivate var contexts: [ServerSideContext]

        /// Lets go of one after another, and calls `pause` in between.
        package consuming func freed(pause: @Reactor () async -> Void) async {
            while contexts.popLast() != nil { await pause() }
        }
    }

    /// A new server-side SSL object.
    func makeSSL() -> OpaquePointer? {
        unsafe contexts[fallback ?? 0].makeSSL()
    }

    /// The context for a server name; a wildcard stands for exactly one label.
    private func index(for name: String?) -> Int? {
        guard var name, !name.isEmpty else { return fallback }
        name = name.lowercased()
        if let index = exact[name] { return index }
        if let dot = name.firstIndex(of: "."), dot != name.startIndex,
            let index = wildcard[String(name[name.index(after: dot)...])]
        {
            return index
        }
        return fallback
    }

    /// Whether a connection that asked for `serverName` may be asked for `host` (RFC 9110 7.4): its certificate is for
    /// that name too, or is the one that the name would have been given.
    package func serves(_ host: String, onConnectionTo serverName: String?) -> Bool {
        let present = index(for: serverName)
        if present == index(for: host) { return present != nil }
        guard let present else { return false }
        let host = host.lowercased()
        return serverNames[present].names.contains { name in
            guard name.hasPrefix("*."), let dot = host.firstIndex(of: "."), dot != host.startIndex else {
                return name == host
            }
            return name.dropFirst() == host[dot...]
        }
    }

    /// Puts the right certificate in place; false refuses the name.
    func serverNameArrived(_ ssl: OpaquePointer) -> Bool {
        var name: String?
        if let asked = unsafe SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name) {
            name = unsafe String(cString: asked)
        }
        guard let index = index(for: name) else { return false }
        return unsafe contexts[index].adopt(ssl)
    }

    /// Chooses the first of our protocols that the client offers: its position and length in `offered`.
    func chooseProtocol(_ offered: UnsafeBufferPointer<UInt8>) -> (position: Int, length: Int)? {
        var own = 0
        while own < protocols.count {
            let length = Int(protocols[own])
            var position = 0
            while position < offered.count {
                let offeredLength = Int(unsafe offered[position])
                guard position + 1 + offeredLength <= offered.count else { return nil }
                if offeredLength == length, unsafe equal(offered, position + 1, own + 1, length) {
                    return (position + 1, length)
                }
                position += 1 + offeredLength
            }
            own += 1 + length
        }
        return nil
    }

    private func equal(_ offered: UnsafeBufferPointer<UInt8>, _ start: Int, _ own: Int, _ length: Int) -> Bool {
        for offset in 0..<length where unsafe offered[start + offset] != protocols[own + offset] { return false }
        return true
    }
}

/// The wire form of a list of ALPN names.
enum ProtocolNames {
    static func wire(_ names: [String]) throws(TLSFailure) -> [UInt8] {
        var wire: [UInt8] = []
        for name in names {
            guard (1...255).contains(name.utf8.count) else {
                throw TLSFailure(.unusableSetting, detail: "an application protocol's name has 1 to 255 bytes")
            }
            wire.append(UInt8(name.utf8.count))
            wire.append(contentsOf: name.utf8)
        }
        return wire
    }
}
