// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Which verbs are about one dialect alone; on an app of another they change nothing that a request meets.
enum CommandDialects {
    /// By the first words of a verb.
    static let all: [(words: String, dialects: String)] = [
        ("check off", "appengine"), ("check monitor", "appengine"), ("check enforce", "appengine"),
        ("secret rotate", "appengine"), ("debug-tokens", "appengine"), ("domains", "appengine"),
        ("sign-ins", "appengine"), ("failures", "appengine"),
        ("degraded", "offlineid"),
        ("policy", "vouch"), ("settings", "vouch"), ("debug-devices", "vouch"), ("devices revoke", "vouch"),
        ("verdicts", "vouch"), ("play-keys", "appengine and vouch"),
    ]

    /// What help says of it, with the page about that dialect where there is one; nil: every dialect has it.
    static func sentence(of command: Command) -> String? {
        let fitting = all.first { command.name == $0.words || command.name.hasPrefix($0.words + " ") }
        guard let dialects = fitting?.dialects else { return nil }
        let page = dialects == "vouch" ? "; see config/vouch.md" : ""
        return "For apps of dialect \(dialects)\(page)."
    }
}
