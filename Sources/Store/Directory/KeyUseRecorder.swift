// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials
package import Transport

/// Notes when keys were last used, lazily: at most once a minute for each key and worker.
///
/// Isolated to the Reactor.
@Reactor
package final class KeyUseRecorder: RedisReplyReceiver {
    private let connection: RedisConnection
    private let loop: EventLoop
    /// When keys were noted last, by digest, four places a row; 0 is free.
    private var noted = [(digest: UInt64, at: UInt64)](repeating: (0, 0), count: KeyUseRecorder.smallest)
    private let digest = NameDigest()

    private static let interval: UInt64 = 60_000_000_000
    private static let smallest = 256
    private static let mostRemembered = 65_536

    package init(connection: RedisConnection, loop: EventLoop) {
        self.connection = connection
        self.loop = loop
    }

    /// Notes a use from `network`, a /24 or /48 in text, made only if it is wanted; a lost note is no loss.
    ///
    /// True about once a minute for each key.
    @discardableResult
    package func note(_ key: APIKeyID, network: () -> String) -> Bool {
        guard isDue(digest.of(.key, key.rawValue.utf8.span) | 1) else { return false }
        let use = KeyUse(at: loop.wallClockMilliseconds, network: network())
        _ = connection.send(receiver: self, token: 0) { buffer in
            buffer.beginCommand(arguments: 6)
            buffer.appendArgument(utf8: "EVAL")
            buffer.appendArgument(utf8: RegistryScripts.noteUse.source)
            buffer.appendArgument(decimal: 1)
            buffer.appendArgument(utf8: RegistryScripts.tag)
            buffer.appendArgument(utf8: key.rawValue)
            buffer.appendArgument(utf8: use.text)
        }
        return true
    }

    /// Whether the key was not noted within the interval; it then counts as noted.
    ///
    /// A row that is full of keys noted just now makes the table grow; in the largest table it makes the key wait, so
    /// that two keys that meet never cost a note for every request.
    private func isDue(_ digest: UInt64) -> Bool {
        let now = loop.now.nanoseconds
        while true {
            let row = Int(truncatingIfNeeded: digest) & (noted.count - 1) & ~3
            var room: Int?
            for place in row..<row + 4 {
                let entry = noted[place]
                let isRecent = entry.digest != 0 && now < entry.at &+ Self.interval
                if entry.digest == digest, isRecent { return false }
                if !isRecent { room = room ?? place }
            }
            if let room {
                noted[room] = (digest, now)
                return true
            }
            if noted.count >= Self.mostRemembered { return false }
            grow(now)
        }
    }

    private func grow(_ now: UInt64) {
        let old = noted
        noted = .init(repeating: (0, 0), count: old.count * 4)
        // Each row spreads over four, so there is room for every entry.
        for entry in old where entry.digest != 0 && now < entry.at &+ Self.interval {
            let row = Int(truncatingIfNeeded: entry.digest) & (noted.count - 1) & ~3
            for place in row..<row + 4 where noted[place].digest == 0 {
                noted[place] = entry
                break
            }
        }
    }

    package func replied(_ reply: RedisReplyTape, token: Int) {}

    package func failed(_ error: StoreError, token: Int) {}
}
