// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Gateway

@main
struct Main {
    static func main() {
        GatewayProcess.end(runCommandLine().rawValue)
    }
}

/// Runs what the process was started for: a child's role, or a verb.
///
/// A free function: closures written in `main` would belong to the main actor, which has no thread here.
private func runCommandLine() -> ExitCode {
    let environment = GatewayProcess.environment
    if let code = GatewayProcess.runChild(environment) { GatewayProcess.end(code) }
    let arguments = Array(CommandLine.arguments.dropFirst())
    do {
        try run(ArgumentParser(commands: CommandTable.all).parse(arguments, environment: environment))
        return .done
    } catch {
        // An empty message: the verb has said everything already.
        if !error.message.isEmpty { Output.show(error, asJSON: arguments.contains("--json")) }
        return error.exit
    }
}

private func run(_ request: Request) throws(CommandFailure) {
    switch request {
    case .run(let invocation): try invocation.command.run(invocation)
    case .help(let command): Terminal.print(HelpText.page(command))
    case .overview(let words): Terminal.print(HelpText.overview(words, of: CommandTable.all))
    case .version: Terminal.print("sallyport \(Version.text)\n")
    }
}
