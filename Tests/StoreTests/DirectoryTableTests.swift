// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing

@testable import Store

@Suite struct DirectoryTableTests {
    private func slot(_ record: Int, names: [DirectoryName] = []) -> DirectorySlot {
        let id = "record-\(record)"
        return DirectorySlot(
            .unknown,
            record: id,
            organization: "acme",
            names: [DirectoryName(.record, id), DirectoryName(.appID, "app_\(record)")] + names
        )
    }

    private func finds(_ table: DirectoryTable, _ kind: DirectoryKind, _ name: String) -> DirectorySlot? {
        table.find(kind, name.utf8.span)
    }

    @Test func `whatever comes and goes, exactly what is in the table is found`() {
        var table = DirectoryTable(capacity: 10_000)
        var held: [Int: DirectorySlot] = [:]
        var state: UInt64 = 1
        for _ in 0..<20_000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let record = Int(state >> 33) % 500
            if let old = held[record] {
                table.remove(old)
                held[record] = nil
            } else {
                let new = slot(record)
                table.insert(new)
                held[record] = new
            }
        }
        #expect(table.count == held.count)
        for record in 0..<500 {
            #expect(finds(table, .record, "record-\(record)") === held[record])
            #expect(finds(table, .appID, "app_\(record)") === held[record])
            #expect(finds(table, .key, "app_\(record)") == nil)
        }
    }

    @Test func `a name of two parts is found by its parts and by no other split of them`() {
        var table = DirectoryTable(capacity: 10)
        let one = slot(1, names: [DirectoryName(.username, "acme/web")])
        table.insert(one)
        #expect(table.find(.username, "acme".utf8.span, "web".utf8.span) === one)
        #expect(table.find(.username, "acm".utf8.span, "e/web".utf8.span) == nil)
        #expect(table.find(.username, "acmeweb".utf8.span, "".utf8.span) == nil)
        #expect(table.find(.username, "acme".utf8.span, "wep".utf8.span) == nil)
    }

    @Test func `a name that moved to another app is that app's`() {
        var table = DirectoryTable(capacity: 10)
        let key = DirectoryName(.key, "key_1")
        let (old, new) = (slot(1, names: [key]), slot(2, names: [key]))
        table.insert(old)
        table.insert(new)
        table.remove(old)
        #expect(finds(table, .key, "key_1") === new)
        #expect(finds(table, .record, "record-1") == nil)
    }

    @Test func `a full table makes room and finds what it kept`() {
        var table = DirectoryTable(capacity: 100)
        for record in 0..<1_000 { table.insert(slot(record)) }
        #expect(table.count == 100)
        #expect(finds(table, .record, "record-999") != nil)
        #expect((0..<1_000).filter { finds(table, .appID, "app_\($0)") != nil }.count == 100)
    }
}
