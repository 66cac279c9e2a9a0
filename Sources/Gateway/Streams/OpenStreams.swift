// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
package import Store
package import Transport

/// The answers under way whose request was admitted on a credential: they end when the credential does.
///
/// Isolated to the Reactor; held by `WorkerState`. Looked at four times a second while there are any: at the clock,
/// and, after a change of the registry or a revocation, at whether each would be admitted still. A WebSocket is closed
/// with 4401, a gRPC call ends with UNAUTHENTICATED, any other answer is broken off. While Redis is away nothing
/// changes here: what was admitted goes on.
@Reactor
package final class OpenStreams {
    /// Counts changes that could end a credential.
    private(set) var revision: UInt64 = 0
    private var streams: [Exchange] = []
    private let loop: EventLoop
    private lazy var timer = LoopTimer(loop: loop, ofProcess: true) { [unowned self] in look() }

    /// Four looks a second: a credential's end is seen within one.
    private static let interval = Duration.milliseconds(250)

    init(loop: EventLoop) {
        self.loop = loop
    }

    /// The head of the answer has gone out, and its body is under way; a gRPC call is added when it is sent on.
    func add(_ exchange: Exchange) {
        guard exchange.openIndex == nil else { return }
        exchange.openIndex = streams.count
        streams.append(exchange)
        if !timer.isArmed { timer.arm(after: Self.interval) }
    }

    /// The exchange is over.
    func remove(_ exchange: Exchange) {
        guard let index = exchange.openIndex else { return }
        exchange.openIndex = nil
        let last = streams.removeLast()
        guard last !== exchange else { return }
        streams[index] = last
        last.openIndex = index
    }

    private func look() {
        // Those that end take themselves out of the list.
        for exchange in streams { exchange.checkStanding(revision) }
        if !streams.isEmpty { timer.arm(after: Self.interval) }
    }
}

extension OpenStreams: ChangeSubscriber {
    package func apply(_ change: RegistryNotice) -> Bool {
        switch change.kind {
        case .app, .organization, .revocation: revision &+= 1
        case .signing, .keyring, .issuer, .adminTokens: break
        }
        return false
    }

    package func dropEverything() { revision &+= 1 }

    package func reload(_ change: RegistryNotice) async {}
}
