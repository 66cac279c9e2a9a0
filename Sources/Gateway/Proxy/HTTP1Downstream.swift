// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Telemetry
import Transport

/// One HTTP/1.1 connection of a client: heads in, one exchange at a time, answers out in order.
///
/// Isolated to the Reactor. A pipelined request waits in the stream's inbound buffer until the exchange before it has
/// ended; the stream stops reading by itself when that buffer is full.
@Reactor
final class HTTP1Downstream: StreamOwner, ClientSide, ClientConnection {
    enum State {
        /// Waits for the first byte of a request.
        case idle
        /// Part of a head has arrived; its deadline is fixed.
        case readingHead
        /// An exchange is under way and its request body is still owed or complete, see `body`.
        case exchanging
        /// The answer is out and the rest of the request is thrown away. Can become: idle, closing, closed.
        case discarding
        /// After a 101.
        case relaying
        /// The last answer goes out; nothing is read as a request any more.
        case closing
        case closed
    }

    let worker: Worker
    let stream: ByteStream
    var facts: ClientConnectionFacts
    var exchange: Exchange?
    var parser: RequestParser
    var body: BodyReader
    // What takes a byte stands together: many thousands of these wait for a request.
    var state = State.idle
    var timeout = ClientFailure.idleTimedOut
    var isProcessing = false
    /// Whether the exchange takes body bytes now.
    var wantsBody = false
    /// What the answer's head said about its own body.
    var answerIsChunked = false
    var closesAfterAnswer = false
    /// The client is to go elsewhere: the next answer says so.
    var isLeaving = false
    /// The client has closed its writing half: what came before that is still answered.
    var inputEnded = false
    /// When a client that is closed unless it asks must have asked.
    var leaveEnd = MonotonicInstant.distantFuture
    /// How much of a body was thrown away after its answer.
    var discarded = 0
    var requests = 0
    var unsentAtArming = 0
    /// When the client must have sent more of the body, and taken more of what waits for it.
    var bodyLimit = MonotonicInstant.distantFuture
    var writeLimit = MonotonicInstant.distantFuture
    var reading = ProgressBudget()
    var writing = ProgressBudget()
    let timer: LoopTimer

    init(stream: ByteStream, facts: ClientConnectionFacts, worker: Worker) {
        self.stream = stream
        self.facts = facts
        self.worker = worker
        self.parser = RequestParser(limits: worker.snapshot.parserLimits)
        self.body = BodyReader()
        self.timer = LoopTimer(loop: worker.loop)
        timer.onFire = { [unowned self] in timerFired() }
        arm(times.header, .idleTimedOut)
    }

    var times: TimeoutSettings { worker.snapshot.settings.timeouts }

    // MARK: Reading

    func streamReceived(_ stream: ByteStream) {
        process()
    }

    /// Handles what is in the inbound buffer until more is needed, somebody else must act first, or it was much.
    func process() {
        guard !isProcessing else { return }
        isProcessing = true
        defer { isProcessing = false }
        var work = 0
        var cost = 0
        repeat {
            work += cost
            guard work < Self.workPerTurn else { return stream.yieldTurn() }
            cost = state == .exchanging || state == .discarding ? 1 : Self.headWork
        } while step()
        if inputEnded { inputUsedUp() }
    }

    /// So many pieces of bodies are looked at before others get their turn, or requests at the price of 16 pieces each.
    private static let workPerTurn = 256
    private static let headWork = 16

    private func step() -> Bool {
        switch state {
        case .idle, .readingHead:
            return !stream.isCongested && !stream.inbound.isEmpty && readHead()
        case .exchanging:
            return wantsBody && !body.isComplete && !stream.inbound.isEmpty && readBodyBytes()
        case .discarding:
            return !stream.inbound.isEmpty && discardSome()
        case .relaying:
            guard wantsBody, !stream.inbound.isEmpty, let exchange else { return false }
            stream.inbound.withBytes { exchange.relayedFromClient($0) }
            stream.consume(stream.inbound.count)
            return false
        case .closing, .closed:
            stream.consume(stream.inbound.count)
            return false
        }
    }

    private func readHead() -> Bool {
        let exchange = self.exchange ?? worker.takeExchange()
        self.exchange = exchange
        do throws(HTTPViolation) {
            let progress = try stream.inbound.withBytes { bytes throws(HTTPViolation) in
                try parser.parse(bytes, into: &exchange.request)
            }
            switch progress {
            case .needMore:
                if state == .idle {
                    state = .readingHead
                    arm(times.header, .headTimedOut)
                }
                return false
            case .head(let consumed):
                stream.consume(consumed)
            }
        } catch {
            refuse(error, exchange)
            return false
        }
        headArrived(exchange)
        return true
    }

    private func headArrived(_ exchange: Exchange) {
        disarm()
        state = .exchanging
        wantsBody = false
        reading.reset()
        writing.reset()
        requests += 1
        leaveEnd = .distantFuture
        closesAfterAnswer =
            !exchange.request.keepsAlive || isLeaving
            || requests >= worker.snapshot.settings.connections.requests
        body.begin(exchange.request.framing, worker.snapshot.parserLimits)
        exchange.begin(client: self, connection: facts)
    }

    private func readBodyBytes() -> Bool {
        guard let exchange else { return false }
        do throws(HTTPViolation) {
            let step = try stream.inbound.withBytes { bytes throws(HTTPViolation) in
                let step = try body.next(bytes)
                if let data = step.data { exchange.requestBodyReceived(bytes.extracting(data)) }
                return step
            }
            guard state == .exchanging, self.exchange === exchange else { return false }
            stream.consume(step.consumed)
            if body.isComplete {
                bodyIsNotDue()
                body.dropTrailers(named: exchange.facts.route?.removedRequestFields ?? [])
                exchange.requestBodyEnded(trailers: body.trailers)
                return true
            }
            if wantsBody { armForBody(progressed: step.consumed) }
            return step.consumed > 0
        } catch {
            bodyViolated(error, exchange)
            return false
        }
    }

    // MARK: The exchange takes or leaves body bytes

    func readBody() {
        wantsBody = true
        stream.resumeReading()
        if state == .exchanging, !body.isComplete { armForBody(progressed: 0) }
        process()
    }

    func pauseBody() {
        wantsBody = false
        bodyIsNotDue()
        reading.pause(at: worker.loop.now)
        stream.pauseReading()
    }
}
