// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Gateway
import Glibc

/// `sallyport lab …`: judging and making proofs without a running gateway.
enum LabCommand {
    static let help = """
        usage: sallyport lab judge FILE|DIR|- ... [--json] [--trust DIR]

          judge   print the verdict on vector files; - reads one vector a line
        """

    /// Runs the verb and says how the process shall end.
    static func run(_ arguments: [String]) -> CInt {
        guard let verb = arguments.first else { return usage() }
        switch verb {
        case "judge": return judge(Array(arguments.dropFirst()))
        case "--help", "help":
            answer(help)
            return 0
        default: return usage()
        }
    }

    private static func judge(_ arguments: [String]) -> CInt {
        var options = Options(arguments)
        let printsJSON = options.flag("--json")
        let trust = options.value("--trust")
        guard let paths = options.operands(), !paths.isEmpty else { return usage() }
        let command = JudgeCommand(paths: paths, printsJSON: printsJSON, trustDirectory: trust, now: .now())
        return command.run(print: answer, complain: complain) ? 0 : 1
    }

    private static func usage() -> CInt {
        complain(help)
        return 2
    }

    /// Writes a line to standard error.
    static func complain(_ text: String) {
        emit(text, to: STDERR_FILENO)
    }

    /// Writes a line to standard output at once, for whoever feeds us line by line.
    static func answer(_ text: String) {
        emit(text, to: STDOUT_FILENO)
    }

    private static func emit(_ text: String, to descriptor: CInt) {
        var rest = Array((text + "\n").utf8)
        while !rest.isEmpty {
            let written = unsafe write(descriptor, rest, rest.count)
            guard written > 0 else { return }
            rest.removeFirst(written)
        }
    }
}

extension Moment {
    /// The system's wall clock; only commands read it.
    static func now() -> Moment {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        return Moment(milliseconds: Int64(now.tv_sec) * 1_000 + Int64(now.tv_nsec) / 1_000_000)
    }
}
