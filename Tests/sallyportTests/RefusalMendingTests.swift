// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials
import Encodings
import HTTP
import Testing

@testable import Gateway
@testable import sallyport

/// Every refusal says how to be mended, and every command that it names is one.
@Suite struct RefusalMendingTests {
    private static let missing: [Missing?] = [nil, .nativeRegistration, .attestation, .credential, .developmentMode]
    private static let policies = [false, true].map { isProduction in
        SignInPolicy(
            appID: AppID(rawValue: "app_7f3c2a"),
            hasAppleApp: isProduction,
            packages: isProduction ? ["com.example.app"] : [],
            allowsDegraded: false,
            isDevelopmentModeOn: false,
            isProduction: isProduction,
            minimumTrust: nil
        )
    }

    /// What is told without a place of its own for steps, in the shape that the caller asked for.
    private func text(
        _ refusal: Refusal,
        _ dialect: Dialect,
        problem: Bool = false,
        gRPC: Bool = false
    ) throws -> JSONValue {
        let request = RefusalRequest(
            method: "GET",
            path: "/x",
            wantsProblemDocument: problem,
            isGRPC: gRPC,
            decision: "d1",
            now: 0,
            documentation: "https://docs.example.com"
        )
        let answer = DialectTable.render(refusal, dialect: dialect, request: request)
        if gRPC { return .string(answer.fields.first { $0.name == "grpc-message" }?.value ?? "") }
        return try JSONValue(parsing: answer.body)
    }

    @Test(arguments: RefusalCode.allCases, Dialect.allCases)
    func `every code names a step in every shape, whatever made it`(_ code: RefusalCode, _ dialect: Dialect) throws {
        for missing in Self.missing {
            let refusal = Refusal(code, missing: missing)
            let step = try #require(NextSteps.usual(for: refusal, in: dialect).first)
            let body = try text(refusal, dialect)
            switch dialect {
            case .offlineid:
                #expect(body["data"]?["next_steps"]?.array?.first?.string == step)
            case .vouch:
                #expect(body["error"]?["message"]?.string?.hasSuffix(step) == true)
            case .appengine:
                let told = code == .appCredentialsRequired ? "Sign the app in first." : step
                #expect(body["error"]?.string?.hasSuffix(told) == true)
            }
            let problem = try text(refusal, dialect, problem: true)
            #expect(problem["next_steps"]?.array?.first?.string == step && problem["detail"]?.string == step)
            let message = try text(refusal, dialect, gRPC: true).string ?? ""
            #expect(message.hasSuffix(GRPCAnswer.percentEncoded(step)))
        }
    }

    @Test func `a request that names no app is told how to name one`() throws {
        let body = try text(.unnamedApp(in: .offlineid), .offlineid)
        #expect(body["error"]?.string == "invalid_app")
        #expect(body["message"]?.string == "This request names no application.")
        let steps = body["data"]?["next_steps"]?.array?.compactMap(\.string) ?? []
        #expect(steps == ["sallyport apps list", "Send its App ID as X-App-Id, or one of its API keys as X-Api-Key."])
        // One that names an unknown app is told no other.
        let unknown = try text(.unknownApp(in: .offlineid, named: AppID(rawValue: "app_x")), .offlineid)
        #expect(unknown["message"]?.string == "No such application.")
        #expect(unknown["data"]?["next_steps"]?.array?.count == 1)
    }

    @Test(arguments: HTTPViolation.allCases)
    func `what is no request at all is told what to send instead`(_ violation: HTTPViolation) throws {
        #expect(violation.mending.hasSuffix(".") && violation.mending.count > 15)
        let body = try JSONValue(parsing: OfflineAnswers.body(violation, documentation: "https://docs.example.com"))
        #expect(body["data"]?["next_steps"]?.array?.first?.string == violation.mending)
        #expect(body["data"]?["reason"]?.string == violation.rawValue)
    }

    @Test(arguments: AppEngineRefusal.Reason.allCases)
    func `a sign-in of dialect C that is refused is told what mends it`(_ reason: AppEngineRefusal.Reason) {
        let sentence = AppEngineRefusal.attestation(reason).sentence
        #expect(sentence == "\(reason.sentence) \(reason.mending)")
    }

    /// Every text that people are told, as far as it can be listed.
    private var sentences: [String] {
        var steps: [String] = []
        for code in RefusalCode.allCases {
            for dialect in Dialect.allCases {
                for missing in Self.missing {
                    steps += NextSteps.usual(for: Refusal(code, missing: missing), in: dialect)
                }
            }
        }
        for dialect in Dialect.allCases {
            steps += Refusal.unlisted(origin: "https://shop.example.com", dialect: dialect).nextSteps
            steps += Refusal.unnamedApp(in: dialect).nextSteps + Refusal.unknownApp(in: dialect).nextSteps
            steps += Refusal.token(.expired, in: dialect).nextSteps
        }
        for policy in Self.policies {
            for platform in [AttestationReason.Platform.ios, .android] {
                steps += Refusal.attestationNotConfigured(platform, policy).nextSteps
                for reason in AttestationReason.allCases {
                    steps += Refusal.attestationFailed(reason, on: platform, policy).nextSteps
                }
            }
            steps += Refusal.missingAttestation(policy).nextSteps + Refusal.attestationRequired(policy).nextSteps
            steps += Refusal.developmentModeRequired(policy).nextSteps + Refusal.developmentEnded(policy).nextSteps
            steps += Refusal.trustTooLow(.degraded, .hardware, policy).nextSteps
        }
        let own: [AppEngineRefusal] = [
            .appNotFound, .appRevoked, .wrongSecret, .secretNotTaken, .missingOrganization, .away,
            .missingAuthorization,
            .adminTokenExpired, .notAdministrator, .debugTokenNotFound,
        ]
        return steps + own.map(\.sentence) + AppEngineRefusal.Reason.allCases.map(\.mending)
    }

    @Test func `every command that a refusal names is one of the command line`() throws {
        let parser = ArgumentParser(commands: CommandTable.all)
        var commands: Set<String> = []
        for sentence in sentences {
            #expect(sentence.count > 10)
            guard let start = sentence.firstRange(of: "sallyport ") else { continue }
            commands.insert(String(sentence[start.lowerBound...]))
        }
        #expect(commands.count > 15)
        for command in commands {
            // `<bundle id>` stands for one word.
            var words: [String] = []
            var isOpen = false
            for word in command.split(separator: " ").dropFirst() {
                if !isOpen { words.append(word.hasPrefix("<") ? "x" : String(word)) }
                isOpen = (isOpen || word.hasPrefix("<")) && !word.contains(">")
            }
            do {
                guard case .run = try parser.parse(words, environment: ["SALLYPORT_APP": "app_x"]) else {
                    Issue.record("\(command) runs nothing")
                    continue
                }
            } catch {
                Issue.record("\(command): \(error.message)")
            }
        }
    }
}
