// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import COpenSSL

/// One server-side SSL_CTX: an identity and the callbacks that lead back to its `TLSServerContext`.
@Reactor
@safe
final class ServerSideContext {
    // Freed when the last reference goes; SSL objects hold references of their own.
    private nonisolated(unsafe) let context: OpaquePointer

    /// TLS 1.2 suites: forward secrecy and authenticated encryption only.
    static let cipherList =
        "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
        + "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305"
    /// TLS 1.3 suites; the shorter key first, it costs less and is no weaker in practice.
    static let cipherSuites = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
    static let groups = "X25519:P-256:P-384"
    /// How long a ticket can be used; keys rotate more often than two such times.
    static let ticketLifetime = 12 * 3600

    init(
        _ identity: TLSIdentity,
        _ settings: TLSServerSettings,
        owner: TLSServerContext
    ) throws(TLSFailure) {
        TLSErrorQueue.clear()
        guard let context = unsafe SSL_CTX_new(TLS_server_method()) else {
            throw TLSErrorQueue.drain(otherwise: .unusableSetting)
        }
        unsafe self.context = context
        unsafe sp_SSL_CTX_set_house_options(context)
        unsafe sp_SSL_CTX_prefer_server_ciphers(context)
        // Requests say themselves where they end, so that nothing is cut unseen; a client that closes its writing half
        // without close_notify can be answered still (RFC 9112 9.8).
        unsafe sp_SSL_CTX_ignore_unexpected_end(context)
        let version = settings.minimumVersion == .v1_3 ? TLS1_3_VERSION : TLS1_2_VERSION
        guard unsafe sp_SSL_CTX_set_min_proto_version(context, version) == 1,
            unsafe SSL_CTX_set_cipher_list(context, Self.cipherList) == 1,
            unsafe SSL_CTX_set_ciphersuites(context, Self.cipherSuites) == 1,
            unsafe sp_SSL_CTX_set1_groups_list(context, Self.groups) == 1,
            unsafe identity.install(in: context)
        else { throw TLSErrorQueue.drain(otherwise: .unusableSetting) }
        unsafe sp_SSL_CTX_set_session_cache_mode(context, Int(SSL_SESS_CACHE_OFF))
        unsafe SSL_CTX_set_timeout(context, Self.ticketLifetime)
        // One name for all contexts: the ticket of one certificate's connection is good on another's.
        let label: [UInt8] = Array("sallyport".utf8)
        unsafe SSL_CTX_set_session_id_context(context, label, CUnsignedInt(label.count))
        installCallbacks(owner)
    }

    deinit {
        unsafe SSL_CTX_free(context)
    }

    func makeSSL() -> OpaquePointer? {
        unsafe SSL_new(context)
    }

    func adopt(_ ssl: OpaquePointer) -> Bool {
        unsafe SSL_set_SSL_CTX(ssl, context) != nil
    }

    func allowTickets(_ allowed: Bool) {
        unsafe sp_SSL_CTX_set_tickets(context, allowed ? 1 : 0)
        unsafe SSL_CTX_set_num_tickets(context, allowed ? 1 : 0)
    }

    /// The closures are literals of isolated code, so that they are isolated too; the argument is not retained: every
    /// stream holds the `TLSServerContext` for as long as its SSL object lives.
    private func installCallbacks(_ owner: TLSServerContext) {
        let argument = unsafe Unmanaged.passUnretained(owner).toOpaque()
        unsafe sp_SSL_CTX_set_tlsext_servername_callback(context) { ssl, alert, argument in
            guard let ssl = unsafe ssl, let argument = unsafe argument else { return SSL_TLSEXT_ERR_ALERT_FATAL }
            let owner = unsafe Unmanaged<TLSServerContext>.fromOpaque(argument).takeUnretainedValue()
            guard unsafe owner.serverNameArrived(ssl) else {
                unsafe ByteStream.of(ssl)?.refusedServerName = true
                unsafe alert?.pointee = SSL_AD_UNRECOGNIZED_NAME
                return SSL_TLSEXT_ERR_ALERT_FATAL
            }
            return SSL_TLSEXT_ERR_OK
        }
        unsafe sp_SSL_CTX_set_tlsext_servername_arg(context, argument)
        unsafe SSL_CTX_set_alpn_select_cb(
            context,
            { _, chosen, chosenLength, offered, offeredLength, argument in
                guard let argument = unsafe argument, let offered = unsafe offered else {
                    return SSL_TLSEXT_ERR_ALERT_FATAL
                }
                let owner = unsafe Unmanaged<TLSServerContext>.fromOpaque(argument).takeUnretainedValue()
                let list = unsafe UnsafeBufferPointer(start: offered, count: Int(offeredLength))
                guard let (position, length) = unsafe owner.chooseProtocol(list) else {
                    return SSL_TLSEXT_ERR_ALERT_FATAL
                }
                unsafe chosen?.pointee = offered + position
                unsafe chosenLength?.pointee = UInt8(length)
                return SSL_TLSEXT_ERR_OK
            },
            argument
        )
        unsafe SSL_CTX_set_tlsext_ticket_key_evp_cb(context) { ssl, name, vector, cipher, code, isSealing in
            guard let ssl = unsafe ssl, case .server(let owner)? = unsafe ByteStream.of(ssl)?.security,
                let keys = owner.ticketKeys, let name = unsafe name, let vector = unsafe vector
            else { return 0 }
            if isSealing == 1 { return unsafe keys.seal(name, vector, cipher, code) }
            let opened = unsafe keys.open(name, vector, cipher, code)
            // Clients of TLS 1.3 use a ticket once: without a new one every second connection
            // would be a full handshake.
            return unsafe opened == 1 && SSL_version(ssl) == TLS1_3_VERSION ? 2 : opened
        }
    }
}
