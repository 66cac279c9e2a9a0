// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
package import Telemetry
package import Transport

/// One connection to Redis that keeps itself alive: pipelined, with deadlines, reconnecting.
///
/// Isolated to the Reactor.
///
/// Calls are written into the stream's outbound buffer and leave together when the loop's turn ends; answers come in
/// the order of the calls. A call made while there is no connection fails at once: nothing waits past its deadline, and
/// nothing is sent twice.
@Reactor
package final class RedisConnection {
    /// How a connection behaves; the defaults are those of configuration.
    package struct Options: Sendable {
        /// Shown by `CLIENT LIST`.
        package var name: String
        /// How long a call may take where it does not say.
        package var deadline: Duration

        package init(name: String, deadline: Duration = .milliseconds(250)) {
            self.name = name
            self.deadline = deadline
        }
    }

    enum State {
        /// Not started, between two attempts, or closed.
        case disconnected
        case connecting
        /// Connected; so many answers to the greeting are still to come.
        case greeting(Int)
        case ready
    }

    /// Counts the connections made: a caller that must know whether it still speaks to the same one compares it.
    package private(set) var generation = 0
    /// Why the last attempt or connection ended, for logs.
    package private(set) var lastFailure: String?
    /// Told why there is no connection, whenever that is another reason than before.
    package var onFailure: (@Reactor (String) -> Void)?
    /// Told when the connection becomes usable or is lost.
    package var onReadinessChange: (@Reactor (Bool) -> Void)?
    /// Where the times of answers are counted.
    package var answerTimes: Histogram?

    /// When the server last said anything at all; nil: never.
    package private(set) var lastHeard: MonotonicInstant?

    /// The epoch, as far as it was asked for over the connection of this generation.
    var knownEpoch: (generation: Int, id: String)?
    let loop: EventLoop
    let options: Options
    let link: RedisLink
    /// The registry that must be behind it; nil: any Redis will do.
    let identity: RegistryIdentity?
    var state = State.disconnected
    private var isClosed = false
    private var reader = RedisReplyReader()
    var queue = RedisCallQueue()
    private var backOff = RedisBackOff()
    /// Deadlines of calls and of the attempt to connect, and the heartbeat.
    let timer: LoopTimer
    var timerDue = MonotonicInstant.distantFuture
    private let reconnect: LoopTimer

    /// More calls under way than this mean that the server has stopped answering.
    static let mostCalls = 65_536
    /// A quiet connection is tried this often, so that a dead one is found before a request needs it.
    static let heartbeat = Duration.seconds(5)
    /// A server that owes an answer this long after its deadline is given up (peers B24).
    static let grace = Duration.seconds(1)
    private static let connectTimeout = Duration.seconds(1)

    /// A connection that is not open yet: `start()` it.
    ///
    /// With an `identity` it is usable only while it leads to that registry.
    package init(
        loop: EventLoop,
        endpoint: RedisEndpoint,
        options: Options,
        identity: RegistryIdentity? = nil
    ) {
        self.loop = loop
        self.options = options
        self.identity = identity
        link = RedisLink(loop: loop, endpoint: endpoint, deadline: Self.connectTimeout)
        timer = LoopTimer(loop: loop, ofProcess: true)
        reconnect = LoopTimer(loop: loop, ofProcess: true)
        link.connection = self
        timer.onFire = { [weak self] in self?.timerFired() }
        reconnect.onFire = { [weak self] in self?.connect() }
    }

    /// Where it leads.
    package var endpoint: RedisEndpoint { link.endpoint }

    /// Whether calls can be sent now.
    package var isReady: Bool {
        guard case .ready = state else { return false }
        return true
    }

    /// Opens the connection and keeps it open until `close()`.
    package func start() {
        guard case .disconnected = state, !isClosed, !reconnect.isArmed else { return }
        connect()
    }

    /// Closes it for good; what is under way fails.
    package func close() {
        isClosed = true
        disconnect(because: "closed")
        reconnect.cancel()
    }

    /// Drops the connection and makes a new one at once.
    package func reset() {
        guard !isClosed else { return }
        disconnect(because: "reset")
    }

    // MARK: - Connecting

    private func connect() {
        guard case .disconnected = state, !isClosed else { return }
        state = .connecting
        generation += 1
        armTimer(at: loop.now.advanced(by: Self.connectTimeout))
        link.open()
    }

    /// The stream is open: greet.
    func linkOpened() {
        guard case .connecting = state else { return }
        var commands = link.endpoint.greeting(name: options.name)
        if identity != nil { commands.append(RegistryIdentity.question) }
        state = .greeting(commands.count)
        let deadline = loop.now.advanced(by: Self.connectTimeout)
        for _ in commands { enqueue(nil, 0, deadline) }
        link.send { buffer in
            for command in commands {
                buffer.beginCommand(arguments: command.count)
                for argument in command { argument.write(to: &buffer) }
            }
        }
    }

    /// The stream ended or could not be opened.
    func linkClosed(because reason: String) {
        disconnect(because: reason)
    }

    /// Bytes arrived: they are moved into the reader; `takeReplies()` follows.
    func linkReceived(_ inbound: inout ByteBuffer) {
        lastHeard = loop.now
        do {
            try reader.feed(inbound.bytes)
            inbound.removeAll()
        } catch {
            disconnect(because: error.description)
        }
    }

    /// Hands every complete reply to its receiver.
    func takeReplies() {
        do {
            // A receiver may close the connection: what it read ahead is then gone with it.
            let current = generation
            while current == generation, isLinked, try reader.next() {
                take(reader.tape)
                if current == generation { reader.discard() }
            }
        } catch {
            disconnect(because: error.description)
        }
    }

    private var isLinked: Bool {
        switch state {
        case .greeting, .ready: true
        case .disconnected, .connecting: false
        }
    }

    private func take(_ reply: RedisReplyTape) {
        guard let call = queue.removeFirst() else {
            return disconnect(because: "an answer to no question")
        }
        if case .greeting(let remaining) = state { return greeted(by: reply, remaining: remaining - 1) }
        if let error = reply.error, error.endsConnection {
            call.receiver?.failed(error, token: call.token)
            return disconnect(because: error.description)
        }
        answerTimes?.record(nanoseconds: loop.now.nanoseconds &- call.sentAt.nanoseconds)
        call.receiver?.replied(reply, token: call.token)
    }

    private func greeted(by reply: RedisReplyTape, remaining: Int) {
        if let error = reply.error { return disconnect(because: error.description) }
        guard remaining == 0 else {
            state = .greeting(remaining)
            return
        }
        if let identity, !identity.isOurs(reply.value()) {
            return disconnect(because: "the registry is not the one that was there")
        }
        state = .ready
        lastFailure = nil
        backOff.succeeded()
        armTimer(at: loop.now.advanced(by: Self.heartbeat))
        onReadinessChange?(true)
    }

    func disconnect(because reason: String) {
        guard !isDisconnected else { return }
        let wasReady = isReady
        state = .disconnected
        let isNews = lastFailure != reason && !isClosed
        lastFailure = reason
        link.close()
        armTimer(at: .distantFuture)
        reader = RedisReplyReader()
        var lost = RedisCallQueue()
        swap(&lost, &queue)
        if !isClosed {
            // A connection that served is tried again soon; `backOff` grows with each failure after that.
            reconnect.arm(after: backOff.failed(chance: Double.random(in: 0..<1)))
        }
        if isNews { onFailure?(reason) }
        if wasReady { onReadinessChange?(false) }
        while let call = lost.removeFirst() { call.receiver?.failed(.deadline, token: call.token) }
    }

    private var isDisconnected: Bool {
        guard case .disconnected = state else { return false }
        return true
    }
}
