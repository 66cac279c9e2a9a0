// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Attestation
import Crypto
import Encodings
import HTTP
package import Transport

/// Has Google open Play Integrity tokens, for apps whose keys are not here (VCH-014 to 016).
///
/// Signs in with a service account's signed assertion (RFC 7523), keeps the access token until shortly before it ends,
/// and answers within a deadline: what cannot be asked in time is `platform_unavailable`, which degrades and never
/// fails. Isolated to the Reactor.
@Reactor
package final class RemotePlayDecoder {
    private let account: ServiceAccount
    private let client: WebClient
    private let loop: EventLoop
    private let base: WebURL
    private let tokenURL: WebURL
    private let deadline: Duration
    private let clock: () -> Moment
    private var access: AccessToken?
    private var signIn: Task<AccessToken?, Never>?
    /// Told when Google's answers cannot be used any more, and why, or with nil when they can again; never a token.
    package var onChange: (@Reactor (String?) -> Void)?
    /// Why Google's answer last could not be used; nil while it can.
    package private(set) var lastProblem: String? {
        didSet { if lastProblem != oldValue { onChange?(lastProblem) } }
    }
    /// How often Google was asked for an access token.
    package private(set) var signIns = 0

    private struct AccessToken: Sendable {
        let text: String
        let until: Moment
    }

    /// An access token that ends within this many seconds is not used any more.
    private static let margin: Int64 = 60

    /// A decoder for `account`; nil if its token address is no address.
    package init?(
        _ account: ServiceAccount,
        client: WebClient,
        loop: EventLoop,
        base: WebURL,
        deadline: Duration = .seconds(3),
        clock: @escaping () -> Moment
    ) {
        guard let tokenURL = WebURL(account.tokenURL) else { return nil }
        self.account = account
        self.client = client
        self.loop = loop
        self.base = base
        self.tokenURL = tokenURL
        self.deadline = deadline
        self.clock = clock
    }

    /// The verdict on `token`, opened by Google, for the app that `verifier` is for; by `end`, or after the deadline.
    package func verdict(
        on token: String,
        package: String,
        verifier: IntegrityVerifier,
        nonce: String,
        until end: MonotonicInstant? = nil
    ) async -> IntegrityVerdict {
        guard token.utf8.count <= 16_384, Self.isPackageName(package) else { return .failed(.malformed, at: .decrypt) }
        let end = end ?? loop.now.advanced(by: deadline)
        for attempt in 0..<2 {
            guard let access = await accessToken(until: end), let left = left(until: end),
                let answer = await decode(token, package, access, within: left)
            else { return .unavailable }
            // The token may have been withdrawn before its time: once with a fresh one.
            if answer.status == 401, attempt == 0 {
                self.access = nil
                continue
            }
            return judge(answer, verifier, nonce)
        }
        return .unavailable
    }

    private func judge(_ answer: WebAnswer, _ verifier: IntegrityVerifier, _ nonce: String) -> IntegrityVerdict {
        switch answer.status {
        case 200:
            do {
                let document = try JSONValue(parsing: answer.body)
                guard let payload = document["tokenPayloadExternal"]?.object else { return unavailable("no payload") }
                lastProblem = nil
                return verifier.verdict(onPayload: payload, nonce: nonce, at: clock())
            } catch {
                return unavailable("decoding: \(error)")
            }
        // Google cannot open it either: that is the token's fault, not ours.
        case 400: return .failed(.malformed, at: .decrypt)
        default: return unavailable("decoding: status \(answer.status)")
        }
    }

    private func unavailable(_ problem: String) -> IntegrityVerdict {
        lastProblem = problem
        return .unavailable
    }

    private func decode(
        _ token: String,
        _ package: String,
        _ access: AccessToken,
        within deadline: Duration
    ) async -> WebAnswer? {
        guard let url = base.with(target: "/v1/\(package):decodeIntegrityToken") else { return nil }
        var body = JSONWriter(capacity: token.utf8.count + 32)
        body.beginObject()
        body.member("integrityToken", token)
        body.endObject()
        let fields = [("Content-Type", "application/json"), ("Authorization", "Bearer \(access.text)")]
        let request = WebRequest(url, body: body.bytes, fields: fields.map { (name: $0.0, value: $0.1) })
        do {
            return try await client.answer(to: request, within: deadline)
        } catch {
            lastProblem = "decoding: \(error)"
            return nil
        }
    }

    /// The access token that is kept, or a fresh one; many who wait for one share one request.
    private func accessToken(until end: MonotonicInstant) async -> AccessToken? {
        if let access, clock().adding(seconds: Self.margin) < access.until { return access }
        guard let left = left(until: end) else { return nil }
        let task = signIn ?? Task { @Reactor in await self.fetchAccessToken() }
        signIn = task
        let token = await loop.value(within: left) { await task.value }
        return token ?? nil
    }

    private func fetchAccessToken() async -> AccessToken? {
        defer { signIn = nil }
        signIns += 1
        let now = clock()
        do {
            let form = try account.tokenRequest(at: now)
            let fields = [(name: "Content-Type", value: "application/x-www-form-urlencoded")]
            let request = WebRequest(tokenURL, body: Array(form.utf8), fields: fields)
            let answer = try await client.answer(to: request, within: deadline)
            let document = try JSONValue(parsing: answer.body)
            guard answer.status == 200, let text = document["access_token"]?.string, Self.isFieldSafe(text),
                let seconds = document["expires_in"]?.integer, seconds > 0
            else {
                lastProblem = "access token: status \(answer.status)"
                return nil
            }
            access = AccessToken(text: text, until: now.adding(seconds: Int64(min(seconds, 86_400))))
            return access
        } catch {
            lastProblem = "access token: \(error)"
            return nil
        }
    }

    private func left(until end: MonotonicInstant) -> Duration? {
        loop.now < end ? end.duration(since: loop.now) : nil
    }

    private static func isPackageName(_ package: String) -> Bool {
        !package.isEmpty && package.utf8.count <= 255
            && package.utf8.allSatisfy {
                $0.isASCIIAlphanumeric || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "_")
            }
    }

    private static func isFieldSafe(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 4_096 && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
}
