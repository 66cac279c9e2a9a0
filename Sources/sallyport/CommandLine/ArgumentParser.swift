// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What a command line asks for.
enum Request: Sendable {
    case run(Invocation)
    case help(Command)
    /// Help of a family such as `keys`, or of everything when the words are empty.
    case overview([String])
    case version
}

/// Reads a command line against the table of commands; pure.
struct ArgumentParser {
    let commands: [Command]

    /// Parses the words after the program's name.
    func parse(_ arguments: [String], environment: [String: String]) throws(CommandFailure) -> Request {
        guard let first = arguments.first else { return .overview([]) }
        if first == "--version" || first == "version" { return .version }
        if first == "--help" || first == "-h" || first == "help" {
            return try overview(Array(arguments.dropFirst()))
        }
        guard let command = match(arguments) else { return try family(arguments) }
        return try parse(Array(arguments.dropFirst(command.words.count)), for: command, environment)
    }

    /// The command whose words begin the line; the longest wins, so `check off` is not `check` with an operand.
    private func match(_ arguments: [String]) -> Command? {
        commands.filter { arguments.starts(with: $0.words) }.max { $0.words.count < $1.words.count }
    }

    private func overview(_ words: [String]) throws(CommandFailure) -> Request {
        if let command = commands.first(where: { $0.words == words }) { return .help(command) }
        return try family(words.isEmpty ? [] : words + ["--help"])
    }

    /// `sallyport keys --help`, or a word that nobody knows.
    private func family(_ arguments: [String]) throws(CommandFailure) -> Request {
        guard let first = arguments.first else { return .overview([]) }
        let verbs = commands.filter { $0.words.first == first }
        guard !verbs.isEmpty else {
            let known = Array(Set(commands.compactMap(\.words.first)))
            let hint = nearest(to: first, in: known).map { "; did you mean \"\($0)\"?" } ?? ""
            throw .usage("there is no command \"\(first)\"\(hint)")
        }
        let rest = arguments.dropFirst()
        if rest.contains("--help") || rest.contains("-h") { return .overview([first]) }
        let names = verbs.map { $0.words.dropFirst().joined(separator: " ") }.joined(separator: ", ")
        let found = rest.first.map { "not \"\($0)\"" } ?? "and nothing follows it"
        throw .usage("\"\(first)\" takes one of: \(names), \(found)", seeHelpOf: first)
    }

    private func parse(
        _ arguments: [String],
        for command: Command,
        _ environment: [String: String]
    ) throws(CommandFailure) -> Request {
        var values: [String: [String]] = [:]
        var operands: [String] = []
        var rest = arguments[...]
        var takesOptions = true
        while let word = rest.popFirst() {
            if takesOptions, word == "--" {
                takesOptions = false
            } else if takesOptions, word == "--help" || word == "-h" {
                return .help(command)
            } else if takesOptions, word.hasPrefix("-"), word.count > 1 {
                let (name, value) = try read(word, &rest, of: command)
                values[name, default: []].append(value)
            } else {
                operands.append(word)
            }
        }
        try checkOptions(values, of: command)
        try checkOperands(operands, of: command)
        return .run(Invocation(command: command, operands: operands, values: values, environment: environment))
    }

    /// One option, `--name value`, `--name=value` or a switch; `-f` is short for `--file`.
    private func read(
        _ word: String,
        _ rest: inout ArraySlice<String>,
        of command: Command
    ) throws(CommandFailure) -> (name: String, value: String) {
        let cut = word.firstIndex(of: "=")
        let written = cut.map { String(word[..<$0]) } ?? word
        let name = written == "-f" ? "--file" : written
        guard let option = command.options.first(where: { $0.name == name }) else {
            let hint = nearest(to: name, in: command.options.map(\.name)).map { "; did you mean \($0)?" } ?? ""
            throw .usage("\"\(command.name)\" has no option \(written)\(hint)", seeHelpOf: command.name)
        }
        guard let value = option.value else {
            guard cut == nil else { throw .usage("\(name) takes no value", seeHelpOf: command.name) }
            return (name, "")
        }
        if let cut { return (name, String(word[word.index(after: cut)...])) }
        guard let next = rest.popFirst(), !next.hasPrefix("--") else {
            throw .usage("\(name) needs a value: \(name) \(value)", seeHelpOf: command.name)
        }
        return (name, next)
    }

    private func checkOptions(_ values: [String: [String]], of command: Command) throws(CommandFailure) {
        for option in command.options {
            let count = values[option.name]?.count ?? 0
            if option.isRequired, count == 0 {
                throw .usage("\"\(command.name)\" needs \(option.usage)", seeHelpOf: command.name)
            }
            if count > 1, !option.mayRepeat {
                throw .usage("\(option.name) was given \(count) times", seeHelpOf: command.name)
            }
            guard let value = option.value else { continue }
            for given in values[option.name] ?? [] where given.isBlank {
                throw .usage(
                    "\(option.name) of \"\(command.name)\" is empty: give \(option.name) \(value), \(option.help)",
                    seeHelpOf: command.name
                )
            }
        }
    }

    private func checkOperands(_ operands: [String], of command: Command) throws(CommandFailure) {
        let required = command.operands.filter { !$0.isOptional }
        if operands.count < required.count {
            let missing = required[operands.count]
            throw .usage("\"\(command.name)\" needs \(missing.name): \(missing.help)", seeHelpOf: command.name)
        }
        if operands.count > command.operands.count, command.operands.last?.mayRepeat != true {
            let extra = operands[command.operands.count]
            throw .usage("\"\(command.name)\" does not take \"\(extra)\"", seeHelpOf: command.name)
        }
        // An unset variable of a script: nobody means everything, or nothing, by it.
        for (index, given) in operands.enumerated() where given.isBlank {
            let operand = command.operands[min(index, command.operands.count - 1)]
            throw .usage(
                "\(operand.name) of \"\(command.name)\" is empty: give \(operand.help)",
                seeHelpOf: command.name
            )
        }
    }
}

extension String {
    /// Whether there is nothing to be read in it.
    var isBlank: Bool { allSatisfy(\.isWhitespace) }
}

/// The candidate that is at most two edits away, nearest first.
private func nearest(to word: String, in candidates: [String]) -> String? {
    let scored = candidates.map { (name: $0, distance: editDistance(Array(word.utf8), Array($0.utf8))) }
    return scored.filter { $0.distance <= 2 }.min { ($0.distance, $0.name) < ($1.distance, $1.name) }?.name
}

/// Insertions, deletions and replacements that turn one word into the other.
private func editDistance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    var row = Array(0...right.count)
    for (index, byte) in left.enumerated() {
        var diagonal = row[0]
        row[0] = index + 1
        for (other, candidate) in right.enumerated() {
            let replaced = diagonal + (byte == candidate ? 0 : 1)
            diagonal = row[other + 1]
            row[other + 1] = min(replaced, row[other] + 1, row[other + 1] + 1)
        }
    }
    return row[right.count]
}
