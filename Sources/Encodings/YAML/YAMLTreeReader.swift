// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Builds the tree from events; collects what is wrong and goes on where the text still makes sense.
struct YAMLTreeReader {
    private let events: YAMLEvents
    private(set) var problems: [YAMLProblem] = []
    private var nodes = 0
    /// Set by what ends the reading: a syntax error or a limit.
    private var hasStopped = false

    init(events: YAMLEvents) {
        self.events = events
    }

    /// Reads one document; nil when there is none or it cannot be read to its end.
    mutating func document() -> YAMLNode? {
        var root: YAMLNode?
        while !hasStopped {
            let event = events.next()
            switch event.kind {
            case .failure(let sentence): stop(.syntax, event.position, sentence)
            case .end: return root
            default:
                if root != nil {
                    stop(.severalDocuments, event.position, "only one document is allowed in a file")
                } else {
                    root = node(event, depth: 1)
                }
            }
        }
        return nil
    }

    private mutating func node(_ event: YAMLEvent, depth: Int) -> YAMLNode {
        nodes += 1
        if nodes > YAMLDocument.maximumNodes {
            stop(.tooManyNodes, event.position, "the text has more than \(YAMLDocument.maximumNodes) nodes")
        } else if depth > YAMLDocument.maximumDepth {
            stop(.tooDeep, event.position, "the text is nested deeper than \(YAMLDocument.maximumDepth) levels")
        }
        if event.hasAnchor { report(.anchor, event.position, "anchors (&) are not allowed") }
        if event.hasTag { report(.tag, event.position, "tags (!) are not allowed") }
        let content: YAMLContent
        switch event.kind {
        case .scalar(let text, let isPlain): content = .scalar(text, isPlain: isPlain)
        case .sequenceStart: content = .sequence(hasStopped ? [] : items(depth: depth))
        case .mappingStart: content = .mapping(hasStopped ? [] : members(depth: depth))
        case .alias:
            report(.alias, event.position, "aliases (*) are not allowed; values that begin with * need quotes")
            content = .scalar("", isPlain: true)
        case .failure, .end, .sequenceEnd, .mappingEnd: content = .scalar("", isPlain: true)
        }
        return YAMLNode(position: event.position, content: content)
    }

    private mutating func items(depth: Int) -> [YAMLNode] {
        var items: [YAMLNode] = []
        while let event = nextInside() {
            if case .sequenceEnd = event.kind { break }
            items.append(node(event, depth: depth + 1))
        }
        return items
    }

    private mutating func members(depth: Int) -> [YAMLMember] {
        var members: [YAMLMember] = []
        var lines: [String: Int] = [:]
        while let event = nextInside() {
            if case .mappingEnd = event.kind { break }
            let key = node(event, depth: depth + 1)
            guard let valueEvent = nextInside() else { break }
            let value = node(valueEvent, depth: depth + 1)
            guard case .scalar(let name, _) = key.content else {
                report(.complexKey, key.position, "a key must be a plain word")
                continue
            }
            if let line = lines[name] {
                report(
                    .duplicateKey(name),
                    key.position,
                    "the key \"\(name)\" is here for the second time, first in line \(line)"
                )
                continue
            }
            lines[name] = key.position.line
            members.append(YAMLMember(key: name, position: key.position, value: value))
        }
        return members
    }

    /// The next event of an open collection; nil when the reading has ended.
    private mutating func nextInside() -> YAMLEvent? {
        if hasStopped { return nil }
        let event = events.next()
        switch event.kind {
        case .failure(let sentence):
            stop(.syntax, event.position, sentence)
            return nil
        case .end:
            stop(.syntax, event.position, "the text ends too early")
            return nil
        case .scalar, .sequenceStart, .sequenceEnd, .mappingStart, .mappingEnd, .alias: return event
        }
    }

    private mutating func report(_ kind: YAMLProblem.Kind, _ position: YAMLPosition, _ sentence: String) {
        problems.append(YAMLProblem(kind: kind, position: position, sentence: sentence))
    }

    private mutating func stop(_ kind: YAMLProblem.Kind, _ position: YAMLPosition, _ sentence: String) {
        hasStopped = true
        report(kind, position, sentence)
    }
}
