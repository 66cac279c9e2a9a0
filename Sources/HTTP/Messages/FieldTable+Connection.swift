// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

extension FieldTable {
    /// The most members all `Connection` fields of a message may have together: honest ones have two or three.
    private static let mostConnectionMembers = 32

    /// Reads the `Connection` fields and marks the fields they name as dropped (RFC 9110 7.6.1).
    ///
    /// Naming a field we judge, frame or route by would have it vanish between us and the upstream. No honest sender
    /// does, so the message is refused.
    mutating func readConnection() throws(HTTPViolation) -> ConnectionOptions {
        guard contains(.connection) else { return [] }
        var options: ConnectionOptions = []
        var members = 0
        for index in 0..<count where field(at: index) == .connection {
            var list = TokenList()
            while let range = list.nextMember(of: value(at: index)) {
                members += 1
                guard members <= Self.mostConnectionMembers else { throw .malformedConnection }
                let option = try readOption(at: index, range)
                options.formUnion(option)
            }
        }
        return options
    }

    private mutating func readOption(
        at index: Int,
        _ range: Range<Int>
    ) throws(HTTPViolation) -> ConnectionOptions {
        if let option = try connectionOption(value(at: index).extracting(range)) { return option }
        for other in 0..<count {
            let isNamed = name(at: other).equalsIgnoringCase(value(at: index).extracting(range))
            if isNamed { drop(at: other) }
        }
        return []
    }

    /// The option `token` stands for; nil when it names a field of the sender's own.
    private func connectionOption(_ token: Span<UInt8>) throws(HTTPViolation) -> ConnectionOptions? {
        if token.equalsIgnoringCase("keep-alive") { return .keepAlive }
        if token.equalsIgnoringCase("close") { return .close }
        if token.equalsIgnoringCase("upgrade") { return .upgrade }
        if token.equalsIgnoringCase("te") { return .te }
        for at in token.indices where ByteClass.table[Int(token[at])] & ByteClass.token == 0 {
            throw .malformedConnection
        }
        let named = KnownField(token)
        if named == .other { return nil }
        // Never forwarded anyway, named or not.
        if KnownFieldSet.neverForwarded.contains(named), named != .expect { return [] }
        throw .connectionNamesEndToEndField
    }
}
