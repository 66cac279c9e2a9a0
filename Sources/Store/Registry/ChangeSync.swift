// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Transport

/// Has an embedded Redis sync to disk exactly while registry changes are under way.
///
/// Isolated to the Reactor.
///
/// A change must outlive a power cut once it is answered; a window need not, and a sync for each costs more CPU than the
/// window itself. Redis starts with `appendfsync always`; between changes it is `everysec`, which a killed process
/// survives whole, because the bytes are with the kernel. The connection keeps order: the switch back is sent only when
/// no change waits for its answer, and the next change is sent after its own switch was answered.
@Reactor
final class ChangeSync {
    private let connection: RedisConnection
    private let unanswered = Unanswered()
    private var changes = 0

    init(connection: RedisConnection) {
        self.connection = connection
    }

    /// A change is about to be sent; returns when Redis will sync before it answers.
    func begin(within deadline: Duration) async throws(StoreError) {
        changes += 1
        do throws(StoreError) {
            _ = try await connection.call(["CONFIG", "SET", "appendfsync", "always"], deadline: deadline)
        } catch {
            changes -= 1
            throw error
        }
    }

    /// A change was answered, or will not be.
    func end() {
        changes -= 1
        relax()
    }

    /// Goes back to a sync a second unless a change is under way.
    func relax() {
        guard changes == 0 else { return }
        _ = connection.send(receiver: unanswered, token: 0) { buffer in
            buffer.beginCommand(arguments: 4)
            for word in ["CONFIG", "SET", "appendfsync", "everysec"] { buffer.appendArgument(utf8: word) }
        }
    }
}

/// Takes an answer that changes nothing: where the switch back fails, every write stays synced.
@Reactor
private final class Unanswered: RedisReplyReceiver {
    func replied(_ reply: RedisReplyTape, token: Int) {}

    func failed(_ error: StoreError, token: Int) {}
}
