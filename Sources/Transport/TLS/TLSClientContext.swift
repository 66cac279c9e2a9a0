// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import COpenSSL

/// The TLS side of connections we open: trust, our own certificate, sessions to resume.
///
/// Isolated to the Reactor.
@Reactor
@safe
package final class TLSClientContext {
    // Freed with this object; SSL objects hold references of their own.
    private nonisolated(unsafe) let context: OpaquePointer
    private let isVerified: Bool
    private var sessions: [String: ResumableSession] = [:]

    private static let sessionLimit = 512

    /// Reads trust and identity.
    package init(_ settings: TLSClientSettings) throws(TLSFailure) {
        TLSErrorQueue.clear()
        guard let context = unsafe SSL_CTX_new(TLS_client_method()) else {
            throw TLSErrorQueue.drain(otherwise: .unusableSetting)
        }
        unsafe self.context = context
        if case .unverified = settings.trust { isVerified = false } else { isVerified = true }
        unsafe sp_SSL_CTX_set_house_options(context)
        let version = settings.minimumVersion == .v1_3 ? TLS1_3_VERSION : TLS1_2_VERSION
        guard unsafe sp_SSL_CTX_set_min_proto_version(context, version) == 1,
            unsafe SSL_CTX_set_cipher_list(context, ServerSideContext.cipherList) == 1,
            unsafe SSL_CTX_set_ciphersuites(context, ServerSideContext.cipherSuites) == 1,
            unsafe sp_SSL_CTX_set1_groups_list(context, ServerSideContext.groups) == 1
        else { throw TLSErrorQueue.drain(otherwise: .unusableSetting) }
        try trust(settings.trust)
        let protocols = try ProtocolNames.wire(settings.applicationProtocols)
        if !protocols.isEmpty { unsafe SSL_CTX_set_alpn_protos(context, protocols, CUnsignedInt(protocols.count)) }
        if let source = settings.identity {
            let identity = try TLSIdentity(source)
            guard unsafe identity.install(in: context) else {
                throw TLSErrorQueue.drain(otherwise: .badCertificateFile).named(source.name)
            }
        }
        collectSessions()
    }

    deinit {
        unsafe SSL_CTX_free(context)
    }

    private func trust(_ trust: TLSClientSettings.Trust) throws(TLSFailure) {
        unsafe SSL_CTX_set_verify(context, isVerified ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nil)
        switch trust {
        case .unverified: return
        case .system:
            guard unsafe SystemTrust.install(in: context) else {
                throw TLSErrorQueue.drain(otherwise: .badTrustFile)
            }
        case .authorities(let pem):
            let certificates = unsafe TLSIdentity.certificates(pem: pem)
            defer { unsafe certificates.forEach { unsafe X509_free($0) } }
            guard unsafe !certificates.isEmpty, let store = unsafe SSL_CTX_get_cert_store(context) else {
                throw TLSErrorQueue.drain(otherwise: .badTrustFile).replacing(.badTrustFile)
            }
            for index in unsafe certificates.indices { unsafe X509_STORE_add_cert(store, certificates[index]) }
            TLSErrorQueue.clear()
        }
    }

    /// A new client-side SSL object that accepts only a certificate for `serverName`.
    func makeSSL(serverName: String, peer: SocketAddress) throws(TLSFailure) -> OpaquePointer {
        TLSErrorQueue.clear()
        guard !(serverName.isEmpty && isVerified), !serverName.utf8.contains(0) else {
            throw TLSFailure(.unusableSetting, detail: "no server name to check the certificate against")
        }
        guard let ssl = unsafe SSL_new(context) else { throw TLSErrorQueue.drain(otherwise: .unusableSetting) }
        var isSet = true
        if let address = IPAddress(parsing: serverName) {
            isSet = unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), address.description) == 1
        } else if !serverName.isEmpty {
            unsafe SSL_set_hostflags(ssl, CUnsignedInt(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
            isSet =
                unsafe SSL_set1_host(ssl, serverName) == 1 && sp_SSL_set_tlsext_host_name(ssl, serverName) == 1
        }
        guard isSet else {
            unsafe SSL_free(ssl)
            throw TLSErrorQueue.drain(otherwise: .unusableSetting)
        }
        if let session = sessions[Self.key(serverName, peer)] { unsafe session.use(in: ssl) }
        return unsafe ssl
    }

    /// Keeps the newest session of each peer; the library's own cache is off.
    private func collectSessions() {
        unsafe sp_SSL_CTX_set_session_cache_mode(
            context,
            Int(SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL)
        )
        unsafe SSL_CTX_sess_set_new_cb(context) { ssl, session in
            guard let ssl = unsafe ssl, let session = unsafe session, let stream = unsafe ByteStream.of(ssl),
                case .client(let owner, let serverName) = stream.security
            else { return 0 }
            unsafe owner.keep(session, for: TLSClientContext.key(serverName, stream.peer))
            return 1
        }
    }

    private func keep(_ session: OpaquePointer, for key: String) {
        if sessions.count >= Self.sessionLimit { sessions.removeAll() }
        sessions[key] = unsafe ResumableSession(takingOwnership: session)
    }

    private static func key(_ serverName: String, _ peer: SocketAddress) -> String { "\(serverName) \(peer)" }
}

/// A client session to resume.
@safe
private final class ResumableSession {
    private let session: OpaquePointer

    init(takingOwnership session: OpaquePointer) {
        unsafe self.session = session
    }

    deinit {
        unsafe SSL_SESSION_free(session)
    }

    func use(in ssl: OpaquePointer) {
        if unsafe SSL_SESSION_is_resumable(session) == 1 { unsafe SSL_set_session(ssl, session) }
    }
}
