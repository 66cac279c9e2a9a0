// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Encodings
import Gateway

/// What proofs are trusted by: the vendors' roots and the status list.
enum TrustCommands {
    private static let directory = Option(
        name: "--trust",
        value: "DIR",
        help: "the bundle's directory; else SALLYPORT_TRUST, else what the program carries"
    )

    static let all: [Command] = [
        Command(
            words: ["trust", "status"],
            summary: "each root with its days left, the status list's age, and what needs seeing to",
            options: [directory, .json],
            run: status
        ),
        Command(
            words: ["trust", "verify"],
            summary: "try the bundle on real stored proofs, at their times or through time",
            operands: [
                Operand(name: "FILE", help: "further proofs in vector files", isOptional: true, mayRepeat: true)
            ],
            options: [
                directory,
                Option(name: "--sweep", value: "DAYS", help: "show when each verdict changes within so many days"),
                Option(
                    name: "--from",
                    value: "TIME",
                    help: "where the sweep begins, such as 2026-01-01T00:00:00Z; else now"
                ),
                .json,
            ],
            run: verify
        ),
        Command(
            words: ["trust", "fetch"],
            summary: "fetch Google's status list into a bundle's directory; the last good one stays if that fails",
            options: [
                Option(name: "--trust", value: "DIR", help: "the bundle's directory", isRequired: true),
                Option(name: "--url", value: "URL", help: "where from; else \(StatusListRefresh.address)"),
                Option(name: "--authorities", value: "FILE", help: "trust these in place of the system's, in PEM"),
            ],
            run: fetch
        ),
    ]

    @Sendable private static func fetch(_ invocation: Invocation) throws(CommandFailure) {
        let text = invocation["--url"] ?? StatusListRefresh.address
        guard let url = WebURL(text) else {
            throw .usage("--url takes an https address, not \"\(text)\"", seeHelpOf: invocation.command.name)
        }
        var authorities: [UInt8]?
        if let path = invocation["--authorities"] {
            do {
                authorities = try SmallFile.read(path)
            } catch {
                throw unusable("\(error)")
            }
        }
        let directory = TrustDirectory(path: invocation["--trust"])
        switch TrustFetch.run(directory, from: url, authorities: authorities, at: .now()) {
        case .success(let count): Terminal.print("status list fetched: \(count) entries\n")
        case .failure(let problem): throw unusable(problem.sentence)
        }
    }

    @Sendable private static func status(_ invocation: Invocation) throws(CommandFailure) {
        let report = TrustReport(try bundle(invocation), at: .now())
        if invocation.wantsJSON { return Terminal.print(report.json + "\n") }
        let rows = report.rows.map { row in
            [
                row.file, row.purpose.rawValue, InternetTime.text(seconds: row.notAfter),
                row.areDatesJudged ? "\(row.daysLeft)" : "\(row.daysLeft) (counts by key)",
            ]
        }
        var text = "trust bundle \(report.version)\n"
        text += Output.table(["ROOT", "FOR", "ENDS", "DAYS LEFT"], rows, empty: "no roots")
        if let count = report.statusListCount, let age = report.statusListAge {
            text += "status list: \(count) entries, \(age) hours old\n"
        }
        for warning in report.warnings { text += "warning: \(warning)\n" }
        Terminal.print(text)
    }

    @Sendable private static func verify(_ invocation: Invocation) throws(CommandFailure) {
        let bundle = try bundle(invocation)
        let source = TrustDirectory(path: path(invocation))
        var proofs: [(name: String, bytes: [UInt8])] = []
        for name in bundle.chains {
            guard let bytes = source.bytes(name) else { throw unusable("\(name) is missing") }
            proofs.append((name, bytes))
        }
        for file in invocation.operands {
            do {
                proofs.append((file, try SmallFile.read(file)))
            } catch {
                throw CommandFailure(exit: .refused, code: "proof_unreadable", message: "cannot read a proof: \(error)")
            }
        }
        let trial = TrustTrial(source)
        if let days = try invocation.integer("--sweep", in: 1...36_500) {
            return sweep(proofs, trial, from: try start(invocation), days: days, invocation)
        }
        let outcomes = proofs.map { trial.outcome(of: $0.name, $0.bytes, at: .now()) }
        let rows = outcomes.map { [$0.name, $0.verdict, $0.difference ?? "as expected"] }
        if invocation.wantsJSON {
            let values = outcomes.map { outcome in
                JSONValue.members([
                    ("proof", .string(outcome.name)), ("verdict", .string(outcome.verdict)),
                    ("as_expected", .bool(outcome.difference == nil)),
                ])
            }
            Terminal.print(
                Output.json(.members([("roots", .number(JSONNumber(bundle.roots.count))), ("proofs", .array(values))]))
            )
        } else {
            Terminal.print("\(bundle.roots.count) roots read, fingerprints and self-signatures right\n")
            Terminal.print(Output.table(["PROOF", "VERDICT", "RESULT"], rows, empty: "no stored proofs to try"))
        }
        if outcomes.contains(where: { $0.difference != nil }) { throw CommandFailure.told }
    }

    private static func sweep(
        _ proofs: [(name: String, bytes: [UInt8])],
        _ trial: TrustTrial,
        from start: Moment,
        days: Int,
        _ invocation: Invocation
    ) {
        var rows: [[String]] = []
        for proof in proofs {
            for change in trial.sweep(proof.bytes, from: start, days: days) {
                rows.append([proof.name, InternetTime.text(seconds: change.moment.seconds), change.verdict])
            }
        }
        guard invocation.wantsJSON else {
            return Terminal.print(Output.table(["PROOF", "FROM", "VERDICT"], rows, empty: "no stored proofs to try"))
        }
        let values = rows.map { row in
            JSONValue.members([("proof", .string(row[0])), ("from", .string(row[1])), ("verdict", .string(row[2]))])
        }
        Terminal.print(Output.json(.members([("changes", .array(values))])))
    }

    private static func start(_ invocation: Invocation) throws(CommandFailure) -> Moment {
        guard let text = invocation["--from"] else { return .now() }
        guard let milliseconds = InternetTime.milliseconds(of: text) else {
            throw .usage("--from takes a time such as 2026-01-01T00:00:00Z", seeHelpOf: invocation.command.name)
        }
        return Moment(milliseconds: milliseconds)
    }

    private static func path(_ invocation: Invocation) -> String? {
        invocation["--trust"] ?? invocation.environment["SALLYPORT_TRUST"]
    }

    private static func bundle(_ invocation: Invocation) throws(CommandFailure) -> TrustBundle {
        do {
            return try TrustDirectory(path: path(invocation)).bundle()
        } catch {
            var failure = unusable("\(error)\(path(invocation).map { ", in \($0)" } ?? "")")
            failure.nextSteps = ["give the directory of a bundle.json, such as config/trust"]
            throw failure
        }
    }

    private static func unusable(_ message: String) -> CommandFailure {
        CommandFailure(exit: .refused, code: "trust_unusable", message: "the trust bundle: \(message)")
    }
}
