// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The sources that keep the loop busy, and TLS handshakes: they wait behind all others and share a part of each turn.
///
/// Isolated to the Reactor; owned by the loop. Nothing is put off while nobody else has anything to do. Clients
/// take turns by their addresses, so that a thousand connections of one hold up the handshake of another by one
/// slice of work; among those of one address first come is first served, and a source that has more to do than
/// one slice goes to the end.
@Reactor
struct BusySources: ~Copyable {
    /// The sources that wait, by the lanes of their clients' addresses.
    private var lanes = [WaitingLine<EventSource>](repeating: WaitingLine(), count: laneCount)
    /// The lanes in which somebody waits, in the order of their turns.
    private var turns = WaitingLine<UInt8>()

    /// Addresses share lanes by chance: one attacker meets one in so many of the others.
    static let laneCount = 64

    /// A turn longer than this is looked into, for who took the time.
    static let longTurn: UInt64 = 750_000
    /// So long events are taken up in one turn; what they have to say is then sent before more are.
    static let eventTime: UInt64 = 400_000
    /// Beyond this length of a turn busy sources get no more than their share.
    static let fullTurn: UInt64 = 600_000
    /// Fewer events cannot make a long turn, because each source does one slice of work for one.
    static let fewEvents: CInt = 4
    /// A source is busy that takes more than one part in so many of the loop's time.
    private static let share: UInt64 = 16
    /// So much of that at once is nothing: a page's requests come together.
    private static let burst: UInt64 = 250_000

    var isEmpty: Bool { turns.isEmpty }

    /// Puts `source` behind those of its lane that wait; its readiness is kept for it.
    mutating func append(_ source: EventSource) {
        guard !source.isWaitingItsTurn else { return }
        source.isWaitingItsTurn = true
        let lane = Int(source.lane) % Self.laneCount
        if lanes[lane].isEmpty { turns.append(UInt8(lane)) }
        lanes[lane].append(source)
    }

    mutating func popFirst() -> EventSource? {
        guard let lane = turns.popFirst(), let source = lanes[Int(lane)].popFirst() else { return nil }
        if !lanes[Int(lane)].isEmpty { turns.append(lane) }
        source.isWaitingItsTurn = false
        return source
    }

    /// Charges `source` with `cost` nanoseconds of the loop; whether that made it busy.
    static func charge(_ source: EventSource, _ cost: UInt64, now: UInt64) -> Bool {
        let wasBusy = isBusy(source, now)
        // What takes longer than a slice of work can was not its work: the system let another process run.
        source.chargedUntil = max(source.chargedUntil, now) &+ min(cost, burst) &* share
        return !wasBusy && isBusy(source, now)
    }

    @inline(__always)
    static func isBusy(_ source: EventSource, _ now: UInt64) -> Bool {
        source.chargedUntil > now &+ burst &* share
    }
}

/// First come, first served, without moving those behind for each that leaves.
struct WaitingLine<Element> {
    private var waiting: [Element] = []
    private var first = 0

    var count: Int { waiting.count &- first }
    var isEmpty: Bool { first == waiting.count }

    mutating func append(_ element: Element) { waiting.append(element) }

    mutating func popFirst() -> Element? {
        guard first < waiting.count else { return nil }
        let element = waiting[first]
        first &+= 1
        if first == waiting.count {
            waiting.removeAll(keepingCapacity: true)
            first = 0
        } else if first >= 256, first &* 2 >= waiting.count {
            waiting.removeFirst(first)
            first = 0
        }
        return element
    }
}
