// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import HTTP

/// The JSON object that an endpoint of the gateway's own was sent.
struct FormBody: Equatable, Sendable {
    private let object: JSONObject

    /// Reads a request's body: `application/json`, UTF-8, no content coding, no name twice, at most 16 deep.
    init(_ request: LocalRequest) throws(FormFault) {
        let isPlain = MediaTypeCheck.isPlainJSON(
            contentType: request.value(.contentType) ?? "",
            contentEncoding: request.value(.contentEncoding) ?? ""
        )
        guard isPlain else { throw .mediaType }
        try self.init(request.body)
    }

    /// Reads the bytes of a body.
    init(_ bytes: [UInt8]) throws(FormFault) {
        let value: JSONValue
        do {
            value = try JSONValue(parsing: bytes)
        } catch {
            throw FormFault(error)
        }
        guard let object = value.object else { throw .notAnObject }
        self.object = object
    }

    /// The whole object.
    var value: JSONValue { .object(object) }

    /// The value of a member, of whatever type.
    subscript(name: String) -> JSONValue? { object[name] }

    /// A member that has to be a text.
    func text(_ name: String) throws(FormFault) -> String {
        guard let text = object[name]?.string else { throw .field(name) }
        return text
    }

    /// A member that is a text, missing or `null`.
    func optionalText(_ name: String) throws(FormFault) -> String? {
        guard let value = object[name], value != .null else { return nil }
        guard let text = value.string else { throw .field(name) }
        return text
    }
}
