// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Testing

@Suite
struct ConformanceTests {
    static let requests = ConformanceCase.all.filter { $0.group != "response" }
    static let answers = ConformanceCase.all.filter { $0.group == "response" }

    @Test
    func `all cases of the kit are there`() {
        #expect(Self.requests.count + Self.answers.count == 250)
    }

    @Test(arguments: requests)
    func `a request is read as the hardened kit expects`(_ test: ConformanceCase) {
        let whole = Transcript(requests: test.raw)
        let complete = whole.messages.filter(\.isComplete).count
        switch test.expectation {
        case "reject":
            #expect(whole.violation != nil, "\(whole)")
            #expect(complete == 0, "\(whole)")
        case "wait":
            #expect(complete == 0, "\(whole)")
        case "forward":
            #expect(complete == test.count, "\(whole)")
            #expect(whole.violation == nil, "\(whole)")
        case "safe":
            #expect(whole.violation != nil || complete >= 1, "\(whole)")
            #expect(complete <= max(test.count, 2), "\(whole)")
        default:
            Issue.record("unknown expectation \(test.expectation)")
        }
    }

    @Test(arguments: answers)
    func `an answer is read as the hardened kit expects`(_ test: ConformanceCase) {
        let whole = Transcript(responses: test.answer)
        switch test.expectation {
        case "relay":
            #expect(whole.messages.contains { $0.isComplete || $0.framing == .untilClose }, "\(whole)")
        case "reject-up" where test.id == "rs-101-unasked":
            // Whether it was asked for is the exchange's to know.
            #expect(whole.messages.first?.start.hasPrefix("101") == true)
        case "reject-up":
            #expect(whole.violation != nil && whole.messages.isEmpty, "\(whole)")
        case "truncated":
            #expect(whole.violation == nil && whole.messages.first?.isComplete == false, "\(whole)")
        default:
            #expect(whole.violation != nil || whole.messages.contains(where: \.isComplete), "\(whole)")
        }
    }

    @Test(arguments: ConformanceCase.all)
    func `any cutting of the same bytes reads the same`(_ test: ConformanceCase) {
        guard test.raw.count < 40_000 else { return }
        var random = Seeded(state: 7)
        let whole = Transcript(requests: test.raw)
        let answers = Transcript(responses: test.answer)
        #expect(Transcript(requests: test.raw, cuts: [1]) == whole)
        guard test.answer.count < 40_000 else { return }
        #expect(Transcript(responses: test.answer, cuts: [1]) == answers)
        for _ in 0..<8 {
            let cuts = (0..<6).map { _ in Int.random(in: 1...40, using: &random) }
            #expect(Transcript(requests: test.raw, cuts: cuts) == whole, "\(cuts)")
            #expect(Transcript(responses: test.answer, cuts: cuts) == answers, "\(cuts)")
        }
    }

    @Test(arguments: ConformanceCase.all)
    func `a head can be asked about at any moment, whole or not`(_ test: ConformanceCase) {
        let raw = test.raw.prefix(600)
        var parser = RequestParser()
        var answers = ResponseParser()
        var head = RequestHead()
        var answer = ResponseHead()
        for end in raw.indices {
            let bytes = Array(raw[...end])
            let isRead = (try? parser.parse(bytes.span, into: &head)) ?? .needMore
            _ = try? answers.parse(bytes.span, into: &answer, answering: .get)
            let snapshot = RequestSnapshot(head)
            let fields = lines(answer.fields) + [answer.reason.lossyText]
            #expect(isRead != .needMore || snapshot.lines.isEmpty || snapshot.lines.count == head.fields.count)
            #expect(fields.count == answer.fields.count + 1)
            if isRead != .needMore { return }
        }
    }
}
