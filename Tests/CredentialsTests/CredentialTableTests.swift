// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import FoundationEssentials
import Testing

@testable import Credentials

/// The full product of app states, presented credentials, routes and dialects against `Golden/Judgements.txt`.
///
/// `SALLYPORT_RECORD=1 swift test --filter CredentialTable` writes the table anew; its
/// difference is reviewed like code.
@Suite struct CredentialTableTests {
    private static let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Golden/Judgements.txt")

    @Test func `every combination is judged as the table says`() throws {
        let judged = try JudgementMatrix().text
        if ProcessInfo.processInfo.environment["SALLYPORT_RECORD"] == "1" {
            try Data(judged.utf8).write(to: Self.file)
            return
        }
        let lines = judged.split(separator: "\n")
        let rows = try String(decoding: Data(contentsOf: Self.file), as: UTF8.self).split(separator: "\n")
        #expect(lines.count == rows.count)
        for (line, row) in zip(lines, rows) where line != row { Issue.record("judged: \(line)\ntable:  \(row)") }
    }

    @Test func `nothing but a good credential on a route that takes it ever passes`() throws {
        let matrix = try JudgementMatrix()
        for (shown, cell) in matrix.cells where cell.hasPrefix("+") {
            #expect(shown.isGood, "\(shown) gave \(cell)")
        }
    }

    @Test func `the refusal names the origin it refused`() throws {
        let judgement = try JudgementMatrix().judge(.unlistedOrigin, .enabled, .keyOrOrigin, .offlineid)
        guard case .refused(let refusal) = judgement else {
            Issue.record("an unlisted origin passed")
            return
        }
        #expect(refusal.code == .originNotAllowed)
        #expect(refusal.nextSteps == ["sallyport origins add https://evil.example"])
    }

    @Test func `no command is made of an origin that cannot be listed`() throws {
        let judgement = try JudgementMatrix().judge(.nullOrigin, .enabled, .keyOrOrigin, .offlineid)
        guard case .refused(let refusal) = judgement else {
            Issue.record("an opaque origin passed")
            return
        }
        #expect(refusal.nextSteps.allSatisfy { !$0.contains("origins add") })
    }
}
