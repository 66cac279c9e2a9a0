// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Encodings

/// One request to the admin API: read whole, from a peer whose user is known.
package struct AdminRequest: Sendable {
    package var method: String
    /// The decoded segments after `/admin/v1`.
    package var path: [String]
    package var query: [String: String]
    /// An empty object when no body was sent.
    package var body: JSONValue
    /// The name of the peer's user, or of its token: who made a change.
    package var by: String
    /// What the peer may do; whoever may open the Unix socket may do everything.
    var actor = AdminActor.local

    package init(method: String, path: [String], query: [String: String], body: JSONValue, by: String) {
        self.method = method
        self.path = path
        self.query = query
        self.body = body
        self.by = by
    }

    /// A text that the body must have.
    func text(_ name: String) throws(AdminProblem) -> String {
        guard let text = try optionalText(name) else {
            throw .badRequest("the body needs \"\(name)\": a text")
        }
        return text
    }

    /// A text that the body may have.
    func optionalText(_ name: String) throws(AdminProblem) -> String? {
        guard let value = body[name], value != .null else { return nil }
        guard let text = value.string else { throw .badRequest("\"\(name)\" is a text") }
        // Nobody means everybody, or nobody, by it: a variable was not set.
        guard !text.allSatisfy(\.isWhitespace) else { throw .badRequest("\"\(name)\" is empty") }
        return text
    }

    /// A name for people that the body must have.
    func name(of what: String) throws(AdminProblem) -> String {
        let name = try text("name")
        guard NewNames.isName(name) else {
            throw .badRequest("\(what)'s name has \(NewNames.nameRule)")
        }
        return name
    }

    /// A truth value that the body must have.
    func flag(_ name: String) throws(AdminProblem) -> Bool {
        guard let flag = body[name]?.bool else { throw .badRequest("the body needs \"\(name)\": true or false") }
        return flag
    }

    /// How long the caller waits for every worker: `wait=SECONDS` of the query, 0 to 60.
    var wait: Duration? {
        get throws(AdminProblem) {
            guard let text = query["wait"] else { return nil }
            guard let seconds = Double(text), (0...60).contains(seconds) else {
                throw .badRequest("wait is 0 to 60 seconds")
            }
            return .milliseconds(Int(seconds * 1_000))
        }
    }

    /// A list of texts; empty when the body has none.
    func texts(_ name: String) throws(AdminProblem) -> [String] {
        guard let value = body[name], value != .null else { return [] }
        guard let items = value.array else { throw .badRequest("\"\(name)\" is a list of texts") }
        let texts = items.compactMap(\.string)
        guard texts.count == items.count else { throw .badRequest("\"\(name)\" is a list of texts") }
        return texts
    }
}

extension AdminRequest {
    /// Takes a whole HTTP request apart; anything outside `/admin/v1` is not found.
    static func read(_ request: SmallRequest) -> Result<AdminRequest, AdminProblem> {
        let segments = request.path.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
        guard segments.prefix(2) == ["admin", "v1"] else {
            return .failure(.notFound("everything here begins with /admin/v1"))
        }
        var path: [String] = []
        for segment in segments.dropFirst(2) {
            guard let decoded = percentDecoded(segment) else { return .failure(.badRequest("the path is malformed")) }
            path.append(decoded)
        }
        var query: [String: String] = [:]
        for pair in request.query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let name = percentDecoded(parts[0]), let value = percentDecoded(parts.count > 1 ? parts[1] : "")
            else {
                return .failure(.badRequest("the query is malformed"))
            }
            guard query.updateValue(value, forKey: name) == nil else {
                return .failure(.badRequest("the query says \"\(name)\" twice"))
            }
        }
        var body = JSONValue.object(JSONObject())
        if !request.body.isEmpty {
            do {
                body = try JSONValue(parsing: request.body, limits: .document)
            } catch {
                return .failure(.badRequest("the body is no JSON"))
            }
        }
        return .success(AdminRequest(method: request.method, path: path, query: query, body: body, by: request.by))
    }

    private static func percentDecoded(_ text: String) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let value = UInt8(String(Substring(rest.prefix(2))), radix: 16) else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

/// What the admin API answers: a status and one JSON object.
package struct AdminAnswer: Sendable, Equatable {
    package var status: Int
    package var body: JSONValue

    package init(_ body: JSONValue, status: Int = 200) {
        self.status = status
        self.body = body
    }
}

/// Why the admin API does not do what it is asked: a stable code, a sentence and what mends it.
package struct AdminProblem: Error, Sendable, Equatable {
    package var status: Int
    package var code: String
    package var message: String
    package var details: [String] = []
    package var nextSteps: [String] = []
    /// The store did not say whether it did what it was asked.
    var isUndecided = false

    package static func badRequest(_ message: String, nextSteps: [String] = []) -> AdminProblem {
        AdminProblem(status: 400, code: "bad_request", message: message, nextSteps: nextSteps)
    }

    static func notFound(_ message: String, nextSteps: [String] = []) -> AdminProblem {
        AdminProblem(status: 404, code: "not_found", message: message, nextSteps: nextSteps)
    }

    static func conflict(_ code: String, _ message: String, nextSteps: [String] = []) -> AdminProblem {
        AdminProblem(status: 409, code: code, message: message, nextSteps: nextSteps)
    }

    /// What is said to a request that was not read to its end.
    static func unread(_ status: Int, _ message: String) -> SmallAnswer {
        let code =
            switch status {
            case 411: "length_required"
            case 413: "content_too_large"
            case 414: "uri_too_long"
            case 417: "expectation_failed"
            case 431: "fields_too_large"
            case 501: "not_implemented"
            case 505: "version_not_supported"
            default: "bad_request"
            }
        return AdminProblem(status: status, code: code, message: message).answer.small
    }

    /// The problem as an answer.
    package var answer: AdminAnswer {
        let body = JSONValue.object([
            ("error", .string(code)), ("message", .string(message)), ("details", .texts(details)),
            ("next_steps", .texts(nextSteps)),
        ])
        return AdminAnswer(body, status: status)
    }
}

extension JSONValue {
    /// An object of these members, in this order.
    static func object(_ members: [(String, JSONValue)]) -> JSONValue {
        var object = JSONObject()
        for (name, value) in members { object.set(name, value) }
        return .object(object)
    }

    static func texts(_ texts: [String]) -> JSONValue { .array(texts.map(JSONValue.string)) }
    static func integer(_ number: Int) -> JSONValue { .number(JSONNumber(number)) }
    /// A text, or null.
    static func optional(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }
}
