// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Testing

@Suite
struct KnownFieldTests {
    @Test(arguments: KnownField.allCases)
    func `a canonical name is found in any case`(_ field: KnownField) {
        let name = "\(field.canonicalName)"
        guard !name.isEmpty else { return }
        for spelling in [name, name.lowercased(), name.uppercased()] {
            #expect(KnownField(spelling.utf8.span) == field)
        }
    }

    @Test(arguments: KnownField.allCases)
    func `a name that differs in one byte is not known`(_ field: KnownField) {
        let name = Array("\(field.canonicalName)".utf8)
        for index in name.indices {
            var other = name
            other[index] = other[index] == 0x7a ? 0x71 : 0x7a
            #expect(KnownField(other.span) != field || other == name)
            other[index] = name[index] ^ 0x20
            if !(name[index] & 0xdf >= 0x41 && name[index] & 0xdf <= 0x5a) {
                #expect(KnownField(other.span) != field, "\(other)")
            }
        }
        guard !name.isEmpty else { return }
        let long = name + [0x61]
        #expect(KnownField(long.span) != field)
        let short = Array(name.dropLast())
        #expect(KnownField(short.span) != field)
    }

    @Test(arguments: [
        "Sallyport-App", "sallyport-", "SALLYPORT_APP", "Sally_port", "sallyport_organization", "sallyPort-x-y",
    ])
    func `the prefix of the gateway's own names is seen through case and underscore`(_ name: String) {
        #expect(KnownField(name.utf8.span) == (name == "Sally_port" ? .other : .gatewayPrefixed))
    }

    @Test(arguments: ["Sallyport", "XSallyport-App", "sallyporta-x", "Sally-port-App"])
    func `names that only resemble the prefix pass`(_ name: String) {
        #expect(KnownField(name.utf8.span) == .other)
    }

    @Test(arguments: ["Content_Length", "x_app_id", "X-App_Id", "TRANSFER_ENCODING", "x_forwarded-for"])
    func `a judged name in underscores is an alias`(_ name: String) {
        #expect(KnownField(name.utf8.span) == .underscoreAlias)
    }

    @Test(arguments: ["X_Under", "_", "Content_Lengths"])
    func `other names keep their underscores`(_ name: String) {
        #expect(KnownField(name.utf8.span) == .other)
    }
}
