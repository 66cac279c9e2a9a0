// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

/// The running gateway, asked over its admin socket.
struct RemoteGateway {
    private let client: AdminClient
    private let path: String
    /// How long the gateway shall wait for its workers, as `--wait` says.
    private let wait: String?

    init(for invocation: Invocation) throws(CommandFailure) {
        wait = try invocation.seconds("--wait", in: 0...60)
        self.path = try ConfigurationFile.adminSocket(for: invocation)
        self.client = AdminClient(path: path)
    }

    /// Sends one request; anything but a 2xx is a failure with the gateway's own words.
    func call(_ method: String, _ target: String, _ body: JSONValue? = nil) throws(CommandFailure) -> JSONValue {
        var bytes: [UInt8] = []
        if let body {
            var writer = JSONWriter()
            writer.value(body)
            bytes = writer.bytes
        }
        let answer: AdminClient.Answer
        do {
            let query = wait.map { "\(target.contains("?") ? "&" : "?")wait=\($0)" } ?? ""
            answer = try client.send(method, "/admin/v1\(target)\(query)", body: bytes)
        } catch {
            throw failure(of: error)
        }
        let value: JSONValue
        do {
            value = try JSONValue(parsing: answer.body, limits: .document)
        } catch {
            throw CommandFailure(exit: .notReachable, code: "broken_answer", message: "the answer is no JSON")
        }
        guard (200..<300).contains(answer.status) else { throw refusal(answer.status, value) }
        return value
    }

    private func failure(of error: AdminClient.Failure) -> CommandFailure {
        switch error {
        case .notReachable(let what):
            CommandFailure(
                exit: .notReachable,
                code: "not_reachable",
                message: "no gateway answers on \(what)",
                nextSteps: ["start it: sallyport run --config FILE", "or name its file: --config FILE"]
            )
        case .notPermitted(let what):
            CommandFailure(
                exit: .notSignedIn,
                code: "not_signed_in",
                message: "you may not use the admin socket \(what)",
                nextSteps: ["run the command as the gateway's user or as root"]
            )
        case .broken(let what):
            CommandFailure(exit: .notReachable, code: "broken_answer", message: "\(path): \(what)")
        }
    }

    private func refusal(_ status: Int, _ value: JSONValue) -> CommandFailure {
        CommandFailure(
            exit: status == 401 || status == 403 ? .notSignedIn : .refused,
            code: value["error"]?.string ?? "refused",
            message: value["message"]?.string ?? "the gateway answered \(status)",
            details: (value["details"]?.array ?? []).compactMap(\.string),
            nextSteps: (value["next_steps"]?.array ?? []).compactMap(\.string)
        )
    }
}

extension String {
    /// The text as one segment of a request target.
    var asPathSegment: String {
        var segment = ""
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                segment.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                segment += "%" + (digits.count < 2 ? "0" : "") + digits
            }
        }
        return segment
    }
}
