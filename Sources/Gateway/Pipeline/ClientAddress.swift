// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Transport

/// Finds the address a request comes from.
@Reactor
enum ClientAddress {
    /// Walks `X-Forwarded-For` from right to left past trusted proxies only (B21); anything unreadable ends the walk at
    /// the last address that can be believed.
    static func of(_ exchange: Exchange, trusted: [AddressRange]) -> IPAddress {
        guard let connection = exchange.facts.connection else { return ClientConnectionFacts.nobody }
        guard connection.isTrustedProxy, exchange.request.fields.contains(.xForwardedFor) else {
            return connection.peer
        }
        var believed = connection.peer
        var index = exchange.request.fields.count
        while index > 0 {
            index -= 1
            guard exchange.request.fields.field(at: index) == .xForwardedFor else { continue }
            let value = exchange.request.fields.value(at: index)
            var end = value.count
            while end > 0 {
                var start = end
                while start > 0, value[start - 1] != UInt8(ascii: ",") { start -= 1 }
                guard let address = IPAddress(parsing: value.extracting(start..<end).trimmed.text) else {
                    return believed
                }
                believed = address
                if !trusted.contains(where: { $0.contains(address) }) { return believed }
                end = start - 1
            }
        }
        return believed
    }
}
