// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

/// How the answer to a change is told.
enum Change {
    /// Tells of a change that takes something away; unless every worker has applied it, that is a failure (exit 1).
    static func showRevoking(
        _ answer: JSONValue,
        for invocation: Invocation,
        _ lines: (JSONValue) -> String = line
    ) throws(CommandFailure) {
        Output.show(answer, for: invocation, lines)
        try requireConfirmed(answer)
    }

    /// Ends the verb with 1 where a worker may not have applied the change yet.
    static func requireConfirmed(_ answer: JSONValue) throws(CommandFailure) {
        guard answer["confirmed"]?.bool == false else { return }
        throw CommandFailure.told
    }

    /// The gateway's sentence, with the rest that it wants people to know.
    static func line(_ answer: JSONValue) -> String {
        var text = answer.text("message") + "\n"
        for warning in answer.texts("warnings") { text += "  warning: \(warning)\n" }
        for step in answer.texts("next_steps") { text += "  next: \(step)\n" }
        return text + standing(answer)
    }

    /// By when a change is in force that not every worker has applied, and who has not; else nothing.
    static func standing(_ answer: JSONValue) -> String {
        var text = ""
        if answer["confirmed"]?.bool == false {
            if let moment = answer["effective_by"]?.string {
                text += "  in effect everywhere by \(Output.visible(moment))\n"
            }
            for worker in answer.texts("waiting_for") { text += "    waiting for \(worker)\n" }
        }
        return text
    }
}
