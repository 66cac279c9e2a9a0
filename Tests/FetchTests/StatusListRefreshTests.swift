// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Gateway
import Glibc
import Testing
import Transport

/// Runs a scenario in a process of its own: a process has one loop, and other suites have theirs.

@Suite struct StatusListRefreshTests {
    @Test func `the last good list stays, whatever the server says next`() async {
        await #expect(processExitsWith: .success) {
            await Scenario.run { loop in
                let list = #"{"entries":{"abc1":{"status":"REVOKED"}}}"#
                let replies: [PlayedAPI.Reply] = [
                    PlayBench.json("200 OK", list, "Cache-Control: max-age=7200\r\nETag: \"one\"\r\n"),
                    PlayBench.json("304 Not Modified", ""), PlayBench.json("500 Internal Server Error", ""),
                    PlayBench.json("200 OK", "<html>"), PlayBench.json("200 OK", #"{"entries":{}}"#),
                ]
                let bench = try PlayBench(loop) { _, count in replies[count - 1] }
                var template = Array("/tmp/sallyport-trust-XXXXXX".utf8CString)
                guard let made = unsafe mkdtemp(&template) else { throw Scenario.Broken(sentence: "a directory") }
                let path = unsafe String(cString: made)
                for name in BuiltInTrust.names {
                    let text = BuiltInTrust.text(ofFile: name) ?? ""
                    try SmallFile.write(Array(text.utf8), to: "\(path)/\(name)")
                }
                let directory = TrustDirectory(path: path)
                let refresh = StatusListRefresh(
                    bundle: try directory.bundle(),
                    keptIn: .bundle(directory),
                    client: try bench.client(trusting: bench.api.certificatePEM),
                    url: try #require(WebURL("https://localhost:\(bench.api.port)/attestation/status"))
                ) { PlayBench.now }
                var outcomes: [Bool] = []
                for _ in replies { outcomes.append(await refresh.refresh()) }
                try Scenario.require(
                    outcomes == [true, true, false, false, false],
                    "\(outcomes) \(refresh.lastProblem ?? "")"
                )
                try Scenario.require(refresh.bundle.statusList.status(ofSerial: "abc1") == .revoked, "the list is kept")
                try Scenario.require(bench.api.requests[1].head.contains("If-None-Match: \"one\""), "the tag is sent")
                try Scenario.require(refresh.lastProblem == "an empty list", "\(refresh.lastProblem ?? "nil")")
                let stored = try directory.bundle()
                try Scenario.require(
                    stored.statusList.status(ofSerial: "abc1") == .revoked && stored.statusListTime == PlayBench.now,
                    "the list is stored with its time"
                )
            }
        }
    }
}
