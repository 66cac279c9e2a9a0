// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

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

    @Test func `no two commands have the same words`() {
        #expect(Set(CommandTable.all.map(\.name)).count == CommandTable.all.count)
    }
}
