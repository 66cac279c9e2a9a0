// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

extension FieldTable {
    /// Keeps what another server says in this gateway's name from being forwarded: `Proxy-Status` fields of which a
    /// member begins with `sallyport` (RFC 9209 2).
    ///
    /// A quoted comma is taken for the end of a member: at worst a field too many is left out, never one too few.
    mutating func dropPosedProxyStatus() {
        guard contains(.proxyStatus) else { return }
        for index in 0..<count where field(at: index) == .proxyStatus {
            let poses = posesAsGateway(at: index)
            if poses { drop(at: index) }
        }
    }

    private func posesAsGateway(at index: Int) -> Bool {
        let value = value(at: index)
        var list = TokenList()
        while let range = list.nextMember(of: value) {
            // The name may be a string as well as a token.
            let start = value[range.lowerBound] == 0x22 ? range.lowerBound + 1 : range.lowerBound
            let end = start + 9
            if end <= range.upperBound, value.extracting(start..<end).equalsIgnoringCase("sallyport") { return true }
        }
        return false
    }
}
