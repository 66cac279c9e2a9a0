// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Gateway
import Testing
import Transport

@Suite struct OutboundFetchTests {
    /// What a fetch of a played server at 127.0.0.1 gives, with the ranges that are allowed.
    @Reactor
    private static func fetch(
        _ loop: EventLoop,
        _ exceptions: [String],
        limit: Int = 1 << 20,
        _ reply: PlayedAPI.Reply
    ) async throws -> (Result<WebAnswer, WebFailure>, requests: Int) {
        let api = try PlayedAPI(loop) { _, _ in reply }
        let client = WebClient(
            loop: loop,
            resolver: Resolver(loop: loop, pool: BlockingPool(threads: 1)),
            tls: try TLSClientContext(TLSClientSettings(trust: .authorities(pem: api.certificatePEM))),
            limit: limit,
            permitted: OutboundAddresses(exceptions: exceptions.compactMap { AddressRange(parsing: $0) })
        )
        guard let url = WebURL("https://localhost:\(api.port)/jwks") else { throw WebFailure.resolution }
        do throws(WebFailure) {
            let answer = try await client.answer(to: WebRequest(url), within: .seconds(5))
            return (.success(answer), api.requests.count)
        } catch {
            return (.failure(error), api.requests.count)
        }
    }

    @Test func `a name that leads to a private address is not connected to, unless its range is listed`() async {
        await #expect(processExitsWith: .success) {
            await Scenario.run { loop in
                let body = PlayBench.json("200 OK", "{}")
                let refused = try await OutboundFetchTests.fetch(loop, ["10.0.0.0/8"], body)
                guard case .failure(.address) = refused.0 else { throw Scenario.Broken(sentence: "\(refused.0)") }
                try Scenario.require(refused.requests == 0, "a request was sent")
                let taken = try await OutboundFetchTests.fetch(loop, ["127.0.0.0/8", "::1"], body)
                guard case .success(let answer) = taken.0 else { throw Scenario.Broken(sentence: "\(taken.0)") }
                try Scenario.require(answer.status == 200, "status \(answer.status)")
            }
        }
    }

    @Test func `a redirect is an answer and not followed, and what is too long is none`() async {
        await #expect(processExitsWith: .success) {
            await Scenario.run { loop in
                let moved = PlayBench.json("302 Found", "", "Location: https://localhost/elsewhere\r\n")
                let redirect = try await OutboundFetchTests.fetch(loop, ["127.0.0.0/8", "::1"], moved)
                guard case .success(let answer) = redirect.0, answer.status == 302, redirect.requests == 1 else {
                    throw Scenario.Broken(sentence: "\(redirect.0)")
                }
                let long = PlayBench.json("200 OK", String(repeating: " ", count: 5_000))
                let cut = try await OutboundFetchTests.fetch(loop, ["127.0.0.0/8", "::1"], limit: 4_999, long)
                guard case .failure(.answer) = cut.0 else { throw Scenario.Broken(sentence: "\(cut.0)") }
            }
        }
    }
}
