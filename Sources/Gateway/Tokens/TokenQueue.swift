// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Limits
import Transport

/// Tokens whose check waits for its turn, in the order they came; each is there once, however many requests bear it.
///
/// Bounded as a whole and for each client network, so that one network's flood leaves places for others.
struct TokenQueue {
    /// Hears what the check showed.
    typealias Waiter = @Reactor (TokenKnowledge) -> Void

    /// One token and who waits for it.
    final class Flight {
        let token: [UInt8]
        let use: TokenUse
        let network: ClientNetwork
        var waiters: [Waiter] = []

        init(token: [UInt8], use: TokenUse, network: ClientNetwork) {
            self.token = token
            self.use = use
            self.network = network
        }
    }

    /// What became of a request's wish to wait.
    enum Entry {
        case queued
        /// The client's network waits for enough tokens already.
        case shareSpent
        case full
    }

    private struct Key: Hashable {
        let token: [UInt8]
        let use: TokenUse
    }

    /// At a check of 100 µs and a fifth of the time these are half a second of work.
    static let places = 1_024
    static let placesPerNetwork = 128
    /// Requests that may wait for one token.
    static let waitersPerToken = 256

    private var flights: [Key: Flight] = [:]
    private var order: [Flight] = []
    private var front = 0
    private var shares: [ClientNetwork: Int] = [:]

    var isEmpty: Bool { front == order.count }
    var count: Int { order.count - front }

    /// Waits for a token.
    mutating func enter(
        _ token: [UInt8],
        as use: TokenUse,
        from network: ClientNetwork,
        _ waiter: @escaping Waiter
    ) -> Entry {
        let key = Key(token: token, use: use)
        if let flight = flights[key] {
            guard flight.waiters.count < Self.waitersPerToken else { return .full }
            flight.waiters.append(waiter)
            return .queued
        }
        guard count < Self.places else { return .full }
        let share = shares[network] ?? 0
        guard share < Self.placesPerNetwork else { return .shareSpent }
        let flight = Flight(token: token, use: use, network: network)
        flight.waiters.append(waiter)
        flights[key] = flight
        order.append(flight)
        shares[network] = share + 1
        return .queued
    }

    /// Takes the token whose turn it is.
    mutating func next() -> Flight? {
        guard front < order.count else { return nil }
        let flight = order[front]
        front += 1
        if front == order.count {
            order.removeAll(keepingCapacity: true)
            front = 0
        } else if front >= Self.places {
            order.removeFirst(front)
            front = 0
        }
        flights[Key(token: flight.token, use: flight.use)] = nil
        let share = (shares[flight.network] ?? 1) - 1
        shares[flight.network] = share > 0 ? share : nil
        return flight
    }
}
