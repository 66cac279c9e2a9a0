// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Testing

@testable import sallyport

@Suite struct ArgumentParserTests {
    private let parser = ArgumentParser(commands: CommandTable.all)

    private func invocation(_ line: String, environment: [String: String] = [:]) throws -> Invocation {
        let request = try parser.parse(line.split(separator: " ").map(String.init), environment: environment)
        guard case .run(let invocation) = request else {
            Issue.record("\(line) runs nothing")
            throw CommandFailure.usage("nothing")
        }
        return invocation
    }

    private func failure(_ line: String) -> CommandFailure? {
        do {
            _ = try parser.parse(line.split(separator: " ").map(String.init), environment: [:])
            return nil
        } catch {
            return error
        }
    }

    @Test func `the longest words win, so check enforce is no file check`() throws {
        #expect(try invocation("check enforce --app a").command.words == ["check", "enforce"])
        #expect(try invocation("check --config f").command.words == ["check"])
    }

    @Test func `each note about a dialect is about some verb, and names dialects that there are`() {
        for entry in CommandDialects.all {
            #expect(
                CommandTable.all.contains {
                    CommandDialects.sentence(of: $0)?.contains(entry.dialects) == true && $0.name.hasPrefix(entry.words)
                }
            )
            #expect(
                entry.dialects.split(separator: " ").allSatisfy {
                    ["offlineid", "vouch", "appengine", "and"].contains($0)
                }
            )
        }
    }

    @Test func `what others named neither makes lines nor steers the terminal`() {
        let answer = JSONValue.members([("name", .string("a\u{1b}[2J\nb\u{9b}")), ("all", .array([.string("c\td")]))])
        #expect(answer.text("name") == "a\\u{1b}[2J\\u{a}b\\u{9b}")
        #expect(answer.texts("all") == ["c\\u{9}d"])
        #expect(Output.visible("Laden für Bücher, 本") == "Laden für Bücher, 本")
    }

    @Test func `help says for which dialect a verb is, and is silent where it is for all`() throws {
        #expect(
            HelpText.page(try invocation("policy get --app a").command).contains("dialect vouch; see config/vouch.md.")
        )
        #expect(!HelpText.page(try invocation("devices list --app a").command).contains("For apps of dialect"))
    }

    @Test func `an option takes its value after a space or an equals sign`() throws {
        #expect(try invocation("keys create --name=a --app b")["--name"] == "a")
        #expect(try invocation("keys create --name a --app b")["--app"] == "b")
    }

    @Test func `a repeated option keeps its order`() throws {
        let invocation = try invocation("native add android --package p --sha256 a --sha256 b")
        #expect(invocation.all("--sha256") == ["a", "b"])
    }

    @Test func `-f is short for --file`() throws {
        #expect(try invocation("apply -f tenants.yaml")["--file"] == "tenants.yaml")
    }

    @Test func `after two dashes everything is an operand`() throws {
        #expect(try invocation("origins add --app a -- --odd").operands == ["--odd"])
    }

    @Test func `the app comes from the option before the environment`() throws {
        let environment = ["SALLYPORT_APP": "app_env"]
        #expect(try invocation("keys list", environment: environment).app() == "app_env")
        #expect(try invocation("keys list --app app_x", environment: environment).app() == "app_x")
        #expect(throws: CommandFailure.self) { try invocation("keys list").app() }
    }

    @Test(
        arguments: [
            ("statsu", "did you mean \"status\""), ("keys creat", "takes one of: create, list, revoke"),
            ("keys create --nam a", "did you mean --name"), ("keys create", "needs --name NAME"),
            ("keys create --name", "needs a value"), ("origins add", "needs ORIGIN"),
            ("origins add a b", "does not take \"b\""), ("keys list --json --json", "given 2 times"),
            ("keys list --json=yes", "takes no value"),
        ]
    )
    func `a wrong line is a usage fault that says what is wrong`(line: String, words: String) {
        let failure = failure(line)
        #expect(failure?.exit == .usage)
        #expect(failure?.message.contains(words) == true, "\(failure?.message ?? "accepted")")
    }

    @Test func `hours outside 1 to 72 are a usage fault`() throws {
        for hours in ["0", "73", "x", "1.5"] {
            #expect(throws: CommandFailure.self) {
                try invocation("dev-mode on --hours \(hours)").integer("--hours", in: 1...72)
            }
        }
        #expect(try invocation("dev-mode on --hours 72").integer("--hours", in: 1...72) == 72)
    }

    /// A line of each command that is whole, with `blank` in place of one operand or option's value at a time.
    private func lines(with blank: String) -> [(name: String, whole: [String], broken: [String])] {
        var lines: [(name: String, whole: [String], broken: [String])] = []
        for command in CommandTable.all {
            let operands = command.operands.map { _ in "x" }
            let required = command.options.filter { $0.isRequired && $0.value != nil }
            func line(_ operands: [String], _ options: [(Option, String)]) -> [String] {
                command.words + options.flatMap { [$0.0.name, $0.1] } + operands
            }
            let whole = line(operands, required.map { ($0, "x") })
            for index in operands.indices {
                var broken = operands
                broken[index] = blank
                lines.append(
                    ("\(command.name) \(command.operands[index].name)", whole, line(broken, required.map { ($0, "x") }))
                )
            }
            for option in command.options where option.value != nil {
                let others = required.filter { $0.name != option.name }.map { ($0, "x") }
                lines.append(("\(command.name) \(option.name)", whole, line(operands, others + [(option, blank)])))
            }
        }
        return lines
    }

    @Test(arguments: ["", " ", "\t", "\n", " \t\r\n", "\u{a0}", "\u{2003}"])
    func `an empty word is a usage fault of every verb, and the same line with a word is none`(blank: String) {
        let lines = lines(with: blank)
        #expect(lines.count > 150)
        for line in lines {
            do {
                _ = try parser.parse(line.broken, environment: [:])
                Issue.record("\(line.name) takes \"\(blank)\"")
            } catch {
                #expect(error.exit == .usage && error.code == "usage")
                let subject = line.name.split(separator: " ").last.map(String.init) ?? ""
                #expect(error.message.contains("\(subject) of") && error.message.contains("is empty: give"), "\(error)")
                #expect(error.nextSteps.first?.hasSuffix("--help") == true)
            }
            #expect(throws: Never.self) { try parser.parse(line.whole, environment: [:]) }
        }
    }

    @Test(arguments: ["", " ", "\n"])
    func `an empty SALLYPORT_APP names no app`(blank: String) throws {
        let invocation = try invocation("keys list", environment: ["SALLYPORT_APP": blank])
        #expect(throws: CommandFailure.self) { try invocation.app() }
    }

    @Test func `every command and family has help`() throws {
        for command in CommandTable.all {
            guard case .help(let shown) = try parser.parse(command.words + ["--help"], environment: [:]) else {
                Issue.record("\(command.name) has no help")
                continue
            }
            #expect(HelpText.page(shown).contains("usage: sallyport \(command.name)"))
            guard let family = command.words.first else { continue }
            _ = try parser.parse([family, "--help"], environment: [:])
        }
    }

    /// As a shell takes a line apart, so far as examples need it.
    private func words(_ line: String) -> [String] {
        var words: [String] = []
        let command = line.prefix(while: { $0 != "<" })
        for (index, part) in command.split(separator: "\"", omittingEmptySubsequences: false).enumerated() {
            if index % 2 == 1 {
                words.append(String(part))
            } else {
                words += part.split(separator: " ").map(String.init)
            }
        }
        return words
    }

    @Test func `every command has an example that is a line of its own, and says how it ends`() throws {
        for command in CommandTable.all {
            let examples = CommandExamples.lines(of: command, among: CommandTable.all)
            #expect(!examples.isEmpty, "\(command.name) has no example")
            for example in examples {
                let words = words(example)
                #expect(words.first == "sallyport")
                do {
                    guard case .run(let invocation) = try parser.parse(Array(words.dropFirst()), environment: [:])
                    else {
                        Issue.record("\(example) runs nothing")
                        continue
                    }
                    #expect(invocation.command.words == command.words, "\(example)")
                } catch {
                    Issue.record("\(example): \(error.message)")
                }
            }
            let page = HelpText.page(command)
            #expect(
                page.contains("\nexample: sallyport \(command.name)") && page.contains("exit codes: 0 done, 1 refused")
            )
            #expect(page.contains("4 not reachable") == command.asksGateway)
        }
        let all = CommandTable.all.flatMap { CommandExamples.lines(of: $0, among: CommandTable.all) }
        #expect(all.count == CommandExamples.all.count, "an example of no command")
    }

    @Test(arguments: [
        ("run", false), ("check", false), ("lab init", false), ("trust status", false), ("keys list", true),
        ("reload", true),
    ])
    func `only what asks a gateway may find none`(name: String, asks: Bool) {
        #expect(CommandTable.all.first { $0.name == name }?.asksGateway == asks)
    }

    @Test func `no two commands have the same words`() {
        #expect(Set(CommandTable.all.map(\.name)).count == CommandTable.all.count)
    }
}
