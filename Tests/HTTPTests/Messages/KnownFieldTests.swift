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
        "Sallyport-App", "sallyport-", "SALLYPORT_APP", "sallyport_organization", "sallyPort-x-y", "sallyport.app",
        "Sallyport~App", "sallyport|trust", "SALLYPORT!",
    ])
    func `the prefix of the gateway's own names is seen through case and punctuation`(_ name: String) {
        #expect(KnownField(name.utf8.span) == .gatewayPrefixed)
    }

    @Test(arguments: Array("!#$%&'*+-.^_`|~"))
    func `every token character but letters and digits ends the gateway's own prefix`(_ separator: Character) {
        for name in ["sallyport\(separator)app", "Sallyport\(separator)", "SALLYPORT\(separator)\(separator)x"] {
            #expect(KnownField(name.utf8.span) == .gatewayPrefixed, "\(name)")
        }
    }

    @Test(arguments: ["Sallyport", "XSallyport-App", "sallyporta-x", "Sally-port-App", "Sally_port", "sallyport0.app"])
    func `names that only resemble the prefix pass`(_ name: String) {
        #expect(KnownField(name.utf8.span) == .other)
    }

    @Test(arguments: [
        "Content_Length", "x_app_id", "X-App_Id", "TRANSFER_ENCODING", "x_forwarded-for", "X.App.Id", "X~Api-Key",
        "content.length", "X_HTTP_Method_Override", "x.original.url", "X_Forwarded_User",
    ])
    func `a judged name in other punctuation is an alias`(_ name: String) {
        #expect(KnownField(name.utf8.span) == .alias)
        #expect(KnownFieldSet.neverForwarded.contains(.alias))
    }

    @Test(arguments: ["X_Under", "_", "Content_Lengths", "x.dotted", "X-Forwarded", "X-Forwardedfor"])
    func `other names keep their punctuation`(_ name: String) {
        #expect(KnownField(name.utf8.span) == .other)
    }

    @Test(arguments: [
        "X-Forwarded-User", "x-forwarded-email", "X-FORWARDED-CLIENT-CERT", "X-Forwarded-", "X-Forwarded-Uri",
    ])
    func `a forwarding field that is not listed is never forwarded`(_ name: String) {
        #expect(KnownField(name.utf8.span) == .forwardedPrefixed)
        #expect(KnownFieldSet.neverForwarded.contains(.forwardedPrefixed))
    }
}
