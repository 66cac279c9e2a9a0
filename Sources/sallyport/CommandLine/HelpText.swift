// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The texts of `--help`.
enum HelpText {
    /// Every command, by family, or one family's.
    static func overview(_ words: [String], of commands: [Command]) -> String {
        let shown = commands.filter { $0.words.starts(with: words) }
        var text = ""
        if words.isEmpty {
            text += "sallyport: lets in only your own apps, websites and servers.\n\n"
            text += "usage: sallyport COMMAND [options]    (sallyport COMMAND --help says more)\n\n"
        } else {
            text += "usage: sallyport \(words.joined(separator: " ")) …\n\n"
        }
        text += columns(shown.map { (left(of: $0), $0.summary) })
        if words.isEmpty {
            text += """

                first steps: sallyport check, sallyport run, then orgs create, apps create, origins add or keys create
                exit codes: 0 done, 1 refused, 2 usage, 3 not signed in, 4 not reachable; problems go to standard error,
                            with --json to standard output as one object
                environment: SALLYPORT_CONFIG (the gateway's file), SALLYPORT_APP (the app a verb is about),
                             SALLYPORT_ADMIN (the admin socket, in place of the file's), SALLYPORT_TRUST (a trust bundle)

                """
        }
        return text
    }

    /// One command in full.
    static func page(_ command: Command, among commands: [Command] = CommandTable.all) -> String {
        var text = "\(command.summary)\n\nusage: \(command.usage)\n"
        var rows = command.operands.map { ($0.name, $0.help) }
        for option in command.options + [.help] {
            rows.append((option.value.map { "\(option.name) \($0)" } ?? option.name, option.help))
        }
        text += "\n" + columns(rows)
        if !command.notes.isEmpty { text += "\n\(command.notes)\n" }
        if let sentence = CommandDialects.sentence(of: command) { text += "\n\(sentence)\n" }
        for example in CommandExamples.lines(of: command, among: commands) { text += "\nexample: \(example)" }
        return text + "\n\nexit codes: \(exits(of: command))\n"
    }

    /// What the program's end says after this verb.
    private static func exits(of command: Command) -> String {
        let options = command.options.map(\.name)
        // Only what asks a running gateway can be turned away by it, or not reach it.
        guard command.asksGateway else { return "0 done, 1 refused, 2 usage" }
        let refused = options.contains(Option.wait.name) ? "1 refused, or not confirmed in time" : "1 refused"
        return "0 done, \(refused), 2 usage, 3 not signed in, 4 not reachable"
    }

    private static func left(of command: Command) -> String {
        ([command.name] + command.operands.map(\.usage)).joined(separator: " ")
    }

    /// Two columns, the first as wide as its widest entry.
    static func columns(_ rows: [(String, String)]) -> String {
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { row in
            "  \(row.0)\(String(repeating: " ", count: width - row.0.count))  \(row.1)\n"
        }.joined()
    }
}
