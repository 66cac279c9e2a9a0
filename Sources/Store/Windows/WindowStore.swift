// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
package import Limits
package import Transport

/// Takes the answers of `WindowStore.spend`.
@Reactor
package protocol WindowReceiver: AnyObject {
    /// The charge has its verdicts, or `failure` says why not.
    func windowsAnswered(_ charge: WindowCharge, failure: StoreError?, token: Int)
}

/// Spends windows in Redis: one call for all of a request's.
///
/// Isolated to the Reactor; allocates nothing once warm.
@Reactor
package final class WindowStore {
    private let connection: RedisConnection
    private var idle: [WindowSpend] = []
    fileprivate let script = WindowScript.exact

    /// Enough for what one loop has under way; more are made and freed.
    private static let mostIdle = 1_024

    package init(connection: RedisConnection) {
        self.connection = connection
    }

    /// Spends the windows of `charge`; false: the store cannot be reached, nothing was sent and no answer will come.
    ///
    /// The charge must not be touched until the answer. After `.deadline` it may have been spent.
    package func spend(_ charge: WindowCharge, receiver: any WindowReceiver, token: Int) -> Bool {
        charge.beginVerdicts()
        let spend = idle.popLast() ?? WindowSpend(store: self)
        spend.begin(charge, receiver, token)
        guard spend.send(on: connection, source: nil) else {
            recycle(spend)
            return false
        }
        return true
    }

    /// Sends a spend again with the whole script, after the server forgot it.
    fileprivate func sendAgain(_ spend: WindowSpend) -> Bool {
        spend.send(on: connection, source: script.source)
    }

    fileprivate func recycle(_ spend: WindowSpend) {
        spend.end()
        if idle.count < Self.mostIdle { idle.append(spend) }
    }
}

/// One call under way.
@Reactor
private final class WindowSpend: RedisReplyReceiver {
    private unowned let store: WindowStore
    private var charge: WindowCharge?
    private var receiver: (any WindowReceiver)?
    private var token = 0
    private var isSecondTry = false

    init(store: WindowStore) {
        self.store = store
    }

    func begin(_ charge: WindowCharge, _ receiver: any WindowReceiver, _ token: Int) {
        self.charge = charge
        self.receiver = receiver
        self.token = token
        isSecondTry = false
    }

    func end() {
        charge = nil
        receiver = nil
    }

    func send(on connection: RedisConnection, source: String?) -> Bool {
        guard let charge else { return false }
        return connection.send(receiver: self, token: 0) { buffer in
            let count = charge.entries.count
            buffer.beginCommand(arguments: 3 + 4 * count)
            if let source {
                buffer.append("$4\r\nEVAL\r\n" as StaticString)
                buffer.appendArgument(utf8: source)
            } else {
                buffer.append("$7\r\nEVALSHA\r\n" as StaticString)
                let digest = store.script.digest
                buffer.appendArgument(digest.span)
            }
            buffer.appendArgument(decimal: count)
            let keys = charge.keys
            var start = 0
            for entry in charge.entries {
                buffer.appendArgument(keys.span.extracting(start..<entry.keyEnd))
                start = entry.keyEnd
            }
            for entry in charge.entries {
                buffer.appendArgument(decimal: entry.rule.limit)
                buffer.appendArgument(decimal: Int(entry.rule.geometry.bucketMicroseconds))
                buffer.appendArgument(decimal: entry.rule.isShadow ? -entry.rule.cost : entry.rule.cost)
            }
        }
    }

    func replied(_ reply: RedisReplyTape, token: Int) {
        if let error = reply.error {
            guard !isSecondTry, error.isMissingScript else { return answer(error) }
            isSecondTry = true
            if !store.sendAgain(self) { answer(.unavailable) }
            return
        }
        answer(reply.withBytes(at: 0) { read($0) } ? nil : .malformed("the answer of the windows"))
    }

    func failed(_ error: StoreError, token: Int) {
        answer(error)
    }

    private func answer(_ failure: StoreError?) {
        guard let charge, let receiver else { return }
        let token = self.token
        store.recycle(self)
        receiver.windowsAnswered(charge, failure: failure, token: token)
    }

    /// The script's string: see `WindowScript`.
    private func read(_ bytes: Span<UInt8>) -> Bool {
        guard let charge, bytes.count == 1 + 9 * charge.entries.count else { return false }
        for index in charge.entries.indices {
            let at = 1 + 9 * index
            let reset = number(in: bytes, at: at + 5)
            charge.note(
                WindowVerdict(
                    isAdmitted: bytes[at] == 1,
                    remaining: number(in: bytes, at: at + 1),
                    resetMilliseconds: reset == 0xffff_ffff ? nil : Int64(reset)
                )
            )
        }
        return true
    }

    private func number(in bytes: Span<UInt8>, at index: Int) -> Int {
        var value = 0
        for offset in 0..<4 { value = value << 8 | Int(bytes[index + offset]) }
        return value
    }
}
