// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store
import Transport

/// Finds run tokens for the pipeline: by hash in the store at first sight, from memory from then on.
///
/// Isolated to the Reactor. Memory holds facts only: expiry, the device's watermark and the bound values are asked on
/// every use, so that a revoked device is refused on its next request.
@Reactor
final class RunTokens: RunTokenLookup {
    private let store: RunTokenStore
    private let peppers: PepperRing
    private var cache = TokenCache<RunTokenRecord>(capacity: 8_192)

    init(store: RunTokenStore, peppers: PepperRing) {
        self.store = store
        self.peppers = peppers
    }

    func known(token: [UInt8], bound: RunTokenBinding, now: Int64) -> RunTokenAnswer? {
        // What cannot be a run token costs no call.
        guard let text = RunTokenText(parsing: token) else { return .invalid }
        switch cache.outcome(for: token.span, now: now) {
        case .good(let record): return answer(record, text.app, bound, now)
        case .bad: return .invalid
        case nil: return nil
        }
    }

    func facts(of token: [UInt8], bound: RunTokenBinding, now: Int64) async -> RunTokenAnswer {
        if let known = known(token: token, bound: bound, now: now) { return known }
        guard let text = RunTokenText(parsing: token) else { return .invalid }
        do {
            guard let record = try await store.record(peppers.hashes(token.span, .runToken).map(\.hash), of: text.app)
            else {
                cache.remember(token.span, .unknownKey, now: now)
                return .invalid
            }
            cache.remember(token.span, record, until: record.expiresAt, now: now)
            return answer(record, text.app, bound, now)
        } catch {
            return .unavailable
        }
    }

    private func answer(
        _ record: RunTokenRecord,
        _ app: RecordID,
        _ bound: RunTokenBinding,
        _ now: Int64
    ) -> RunTokenAnswer {
        guard record.expiresAt > now, bound == RunTokenBinding(record) else { return .invalid }
        return .valid(
            TokenFacts(
                kind: .runToken,
                source: .own(
                    OwnSource(
                        organization: record.organization,
                        app: app,
                        appID: record.appID,
                        dialect: .vouch,
                        device: record.watermark
                    )
                ),
                trust: record.trust,
                person: nil,
                issuedAt: record.issuedAt,
                expiresAt: record.expiresAt,
                tokenID: nil
            )
        )
    }
}

extension RunTokenBinding {
    /// The values that a token was made for.
    init(_ record: RunTokenRecord) {
        self.init(device: record.device, version: record.version, platform: record.platform)
    }
}

extension RunTokenRecord {
    /// The device as its watermark names it.
    var watermark: String { Self.watermark(device, isLive: isLive) }

    /// Test and live devices of one name are two; no device's own name has a slash.
    static func watermark(_ device: String, isLive: Bool) -> String {
        isLive ? device : "test/\(device)"
    }
}
