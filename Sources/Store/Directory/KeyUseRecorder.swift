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
    private var noted: [APIKeyID: MonotonicInstant] = [:]

    private static let interval = Duration.seconds(60)
    private static let mostRemembered = 65_536

    package init(connection: RedisConnection, loop: EventLoop) {
        self.connection = connection
        self.loop = loop
    }

    /// Notes a use from `network`, a /24 or /48 in text, made only if it is wanted; a lost note is no loss.
    package func note(_ key: APIKeyID, network: () -> String) {
        if let last = noted[key], loop.now < last.advanced(by: Self.interval) { return }
        if noted.count >= Self.mostRemembered { noted.removeAll(keepingCapacity: true) }
        noted[key] = loop.now
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
    }

    package func replied(_ reply: RedisReplyTape, token: Int) {}

    package func failed(_ error: StoreError, token: Int) {}
}
