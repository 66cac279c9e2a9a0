// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Transport

/// The keys of TLS session tickets: derived from the sealing key and the time, so all workers and nodes have the same
/// ones, they rotate by themselves and none is ever written down.
enum TicketKeyring {
    /// A ticket opens for one to two of these.
    private static let periodMilliseconds: Int64 = 12 * 3600 * 1000

    /// The keys of the period that holds the moment, and of the one before.
    static func keys(_ seal: SecretBytes, atMilliseconds now: Int64) -> TicketKeys? {
        let number = now / periodMilliseconds
        guard let current = key(seal, number) else { return nil }
        return TicketKeys(current: current, previous: key(seal, number - 1))
    }

    /// How long the present period still lasts.
    static func untilNext(atMilliseconds now: Int64) -> Duration {
        .milliseconds(periodMilliseconds - now % periodMilliseconds)
    }

    private static func key(_ seal: SecretBytes, _ number: Int64) -> TicketKeys.Key? {
        let computation = HMACSHA256(key: seal)
        var bytes: [UInt8] = []
        // No copy is left behind by an array that grows.
        bytes.reserveCapacity(96)
        for part in 0..<3 {
            let label = Array("tls ticket \(number) \(part)".utf8)
            let code = computation.code(for: label.span)
            for index in 0..<min(32, 80 - bytes.count) { bytes.append(code.span[index]) }
        }
        return TicketKeys.Key(bytes: SecretBytes(wiping: &bytes))
    }
}
