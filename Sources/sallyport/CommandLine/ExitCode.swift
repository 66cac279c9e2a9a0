// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What the program says to its caller when it ends (SAL-014).
enum ExitCode: Int32, Sendable {
    case done = 0
    /// The gateway, or the check of a file, said no.
    case refused = 1
    /// The command line itself is wrong.
    case usage = 2
    /// The admin socket is there, but this user may not use it.
    case notSignedIn = 3
    /// No gateway answers.
    case notReachable = 4
}

/// Why a verb did not do what it was asked: what, where and how to mend it.
struct CommandFailure: Error, Equatable {
    let exit: ExitCode
    /// A stable word for programs.
    let code: String
    let message: String
    /// Further lines: all problems of a file, or what to do.
    var details: [String] = []
    var nextSteps: [String] = []

    /// What is to be said has been said: the verb ends with 1.
    static let told = CommandFailure(exit: .refused, code: "", message: "")

    static func usage(_ message: String, seeHelpOf command: String? = nil) -> CommandFailure {
        let help = command.map { "sallyport \($0) --help" } ?? "sallyport --help"
        return CommandFailure(exit: .usage, code: "usage", message: message, nextSteps: [help])
    }
}
