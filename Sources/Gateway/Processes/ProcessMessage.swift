// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What supervisor and children say to each other: one line each, words apart by spaces.
package enum ProcessMessage: Sendable, Equatable {
    // From a child.
    /// The child does its work now.
    case serving
    /// This worker could answer but not judge: it has no lease on the registry yet, or not all keys.
    case waiting
    /// Control has had an answer from the embedded Redis.
    case redisAnswers
    /// Control found a text good and has kept it: all workers shall take it.
    case takeConfiguration(Int)
    /// This worker took the configuration of this number, or why it did not.
    case took(Int, fault: String?)
    /// Control asks how the processes are.
    case askProcesses
    /// A worker met a token of this issuer whose key is not in the set it holds, which has this digest; the supervisor
    /// passes it on to control.
    case wantKeys(issuer: String, held: String)

    // To a child.
    /// To control: check the file and have it taken.
    case checkConfiguration
    /// To a worker: read the text that is kept.
    case reload(Int)
    /// Stop accepting, end what runs within so many milliseconds, then exit.
    case drain(milliseconds: Int)
    /// Accept also from the sockets of a worker that is away.
    case adopt(Int)
    /// That worker is back.
    case release(Int)
    /// Accept although you cannot judge: no other worker can either, and somebody has to say so.
    case acceptAnyway
    /// Open log files again.
    case reopenLogs
    /// To control: worker so and so took, or did not take, configuration number so and so.
    case workerTook(worker: Int, Int, fault: String?)
    /// To control: how the processes are, as JSON.
    case processes(String)

    /// The number of a configuration for which nobody waits.
    static let unnumbered = 0

    /// The line, without its end.
    package var text: String {
        switch self {
        case .serving: "serving"
        case .waiting: "waiting"
        case .redisAnswers: "redis-answers"
        case .takeConfiguration(let number): "take \(number)"
        case .took(let number, let fault): "took \(number) \(Self.oneLine(fault))"
        case .askProcesses: "processes?"
        case .wantKeys(let issuer, let held): "keys? \(held) \(issuer)"
        case .checkConfiguration: "check"
        case .reload(let number): "reload \(number)"
        case .drain(let milliseconds): "drain \(milliseconds)"
        case .adopt(let worker): "adopt \(worker)"
        case .release(let worker): "release \(worker)"
        case .acceptAnyway: "accept-anyway"
        case .reopenLogs: "reopen"
        case .workerTook(let worker, let number, let fault): "worker-took \(worker) \(number) \(Self.oneLine(fault))"
        case .processes(let json): "processes \(json)"
        }
    }

    /// Reads a line; nil for one that nobody of this build sends.
    package init?(parsing text: String) {
        let words = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        let rest = words.count > 1 ? String(words[1]) : ""
        switch words[0] {
        case "serving": self = .serving
        case "waiting": self = .waiting
        case "redis-answers": self = .redisAnswers
        case "accept-anyway": self = .acceptAnyway
        case "processes?": self = .askProcesses
        case "check": self = .checkConfiguration
        case "reopen": self = .reopenLogs
        case "processes": self = .processes(rest)
        case "keys?":
            let parts = rest.split(separator: " ", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { return nil }
            self = .wantKeys(issuer: parts[1], held: parts[0])
        case "worker-took":
            guard let (worker, more) = Self.number(rest), let (number, fault) = Self.number(more) else { return nil }
            self = .workerTook(worker: worker, number, fault: fault.isEmpty ? nil : fault)
        case "took":
            guard let (number, fault) = Self.number(rest) else { return nil }
            self = .took(number, fault: fault.isEmpty ? nil : fault)
        default:
            guard let number = Int(rest) else { return nil }
            switch words[0] {
            case "take": self = .takeConfiguration(number)
            case "reload": self = .reload(number)
            case "drain": self = .drain(milliseconds: number)
            case "adopt": self = .adopt(number)
            case "release": self = .release(number)
            default: return nil
            }
        }
    }

    /// Problems of several lines travel as one.
    private static func oneLine(_ fault: String?) -> String {
        (fault ?? "").split(separator: "\n").joined(separator: "; ")
    }

    private static func number(_ text: String) -> (Int, String)? {
        let words = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard let number = Int(words[0]) else { return nil }
        return (number, words.count > 1 ? String(words[1]) : "")
    }
}
