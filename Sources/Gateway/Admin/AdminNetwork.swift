// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Transport

/// The admin API on a TCP address: TLS, the right `Host`, and an admin token on every request.
///
/// Isolated to the Reactor.
@Reactor
final class AdminNetwork {
    private let routes: AdminRoutes
    private let host: String
    private let port: UInt16
    private var tls: TLSServerContext
    private lazy var server = SmallHTTPServer(
        loop: loop,
        limits: Self.limits,
        tls: tls,
        refusal: AdminProblem.unread
    ) { [unowned self] in await answer($0) }
    private let loop: EventLoop

    /// Less than on the socket: anybody may connect.
    private static var limits: SmallHTTPServer.Limits {
        var limits = SmallHTTPServer.Limits.network(connections: 32, perNetwork: 8)
        limits.bodyBytes = 1 << 20
        return limits
    }

    init(_ settings: AdminSettings, loop: EventLoop, routes: AdminRoutes) throws(ProcessFault) {
        guard case .tcp(let host, let port) = settings.address else {
            throw ProcessFault("the admin listener has no TCP address")
        }
        self.host = host
        self.port = port
        self.loop = loop
        self.routes = routes
        tls = try Self.context(settings)
    }

    func start(adopting descriptor: CInt) throws(SystemError) {
        try server.start(adopting: descriptor)
    }

    /// Reads the certificates again; new connections get them.
    func reload(_ settings: AdminSettings) throws(ProcessFault) {
        tls = try Self.context(settings)
        server.tls = tls
    }

    private static func context(_ settings: AdminSettings) throws(ProcessFault) -> TLSServerContext {
        guard let tls = settings.tls else { throw ProcessFault("the admin listener's TCP address needs tls") }
        do {
            return try ListenerTLS.context(for: tls, tickets: nil)
        } catch {
            throw ProcessFault(error.message)
        }
    }

    private func answer(_ request: SmallRequest) async -> SmallAnswer {
        // A page that makes a browser come here by another name does not get to ask.
        guard isOurs(request.authority) else {
            return AdminProblem(status: 421, code: "misdirected", message: "this is no host of the admin listener")
                .answer.small
        }
        // Tokens are in Redis, which is on its way just after the start.
        await routes.keyring.becomeUsable()
        do throws(AdminProblem) {
            let actor = try await routes.actor(presenting: request.authorization)
            var read = try AdminRequest.read(request).get()
            read.by = actor.name
            read.actor = actor
            return await routes.answer(read).small
        } catch {
            return error.answer.small
        }
    }

    /// Whether an authority is one of the certificates' names, or the very address, with our port.
    private func isOurs(_ authority: String) -> Bool {
        let found = SocketAddress.split(authority)
        guard (found?.port ?? 443) == port else { return false }
        var name = found?.host ?? authority
        if name.hasPrefix("["), name.hasSuffix("]") { name = String(name.dropFirst().dropLast()) }
        name = name.lowercased()
        if name == host { return true }
        return tls.serverNames.contains { entry in
            entry.names.contains { known in
                guard known.hasPrefix("*."), let dot = name.firstIndex(of: "."), dot != name.startIndex else {
                    return known == name
                }
                return known.dropFirst() == name[dot...]
            }
        }
    }
}

extension AdminAnswer {
    /// The answer as it is sent.
    var small: SmallAnswer {
        var writer = JSONWriter()
        writer.value(body)
        return SmallAnswer(status: status, contentType: "application/json", body: writer.bytes + [0x0A])
    }
}
