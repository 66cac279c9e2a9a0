// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The sources that keep the loop busy, and TLS handshakes: they wait behind all others and share a part of each turn.
///
/// Isolated to the Reactor; owned by the loop. Nothing is put off while nobody else has anything to do. Clients
/// take turns by their addresses, so that a thousand connections of one hold up the handshake of another by one
/// slice of work; among those of one address first come is first served, and a source that has more to do than
/// one slice goes to the end. Those of one address that take more than their part together are busy too, each with
/// however little, while another address is heard.
@Reactor
struct BusySources: ~Copyable {
    /// The sources that wait, by the lanes of their clients' addresses.
    private var lanes = [WaitingLine<EventSource>](repeating: WaitingLine(), count: laneCount)
    /// The lanes in which somebody waits, in the order of their turns.
    private var turns = WaitingLine<UInt8>()
    /// When the time that the sources of a lane took together will have been spread out to a fair part of the loop's.
    private var chargedUntil = [UInt64](repeating: 0, count: laneCount)
    /// The lane that was heard last, and when another was heard before it.
    private var latestLane = 0
    private var changedAt: UInt64 = 0
    /// What it took since, and was not charged for yet.
    private var uncharged: UInt64 = 0
    private var unchargedSince: UInt64 = 0

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

    /// A lane is busy that takes more than one part in so many: a hundred connections do so with little each.
    private static let laneShare: UInt64 = 8
    /// It is told by so much of its past at most.
    private static let laneMemory: UInt64 = 100_000_000
    /// And only for so long after another was heard: to go on in slices costs a client that is alone a tenth of what
    /// it could have.
    private static let company: UInt64 = 100_000_000

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

    /// Charges those with whom `source` shares its client's lane, if it is one client's.
    mutating func chargeLane(of source: EventSource, _ cost: UInt64, now: UInt64) {
        guard source.servesOneClient else { return }
        let lane = Int(source.lane) % Self.laneCount
        if lane != latestLane {
            settle(now)
            latestLane = lane
            changedAt = now
        }
        if uncharged == 0 { unchargedSince = now }
        uncharged &+= min(cost, Self.burst)
    }

    /// Whether clients of several lanes were heard lately.
    func hasCompany(_ now: UInt64) -> Bool { now &- changedAt < Self.company }

    /// Whether `source` has to wait for what those of its client's lane take together.
    mutating func isLaneBusy(of source: EventSource, _ now: UInt64) -> Bool {
        guard hasCompany(now), source.servesOneClient else { return false }
        settle(now)
        return chargedUntil[Int(source.lane) % Self.laneCount] > now &+ Self.burst &* Self.laneShare
    }

    /// Late, so that a client that is alone is not charged for each of its events.
    private mutating func settle(_ now: UInt64) {
        guard uncharged > 0 else { return }
        let spread = max(chargedUntil[latestLane], unchargedSince) &+ uncharged &* Self.laneShare
        chargedUntil[latestLane] = min(spread, now &+ Self.laneMemory)
        uncharged = 0
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
