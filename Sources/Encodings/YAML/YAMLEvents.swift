// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import CYAML

/// One step of the parser.
struct YAMLEvent {
    enum Kind {
        case scalar(String, isPlain: Bool)
        case sequenceStart, sequenceEnd, mappingStart, mappingEnd, alias
        case failure(String)
        case end
    }

    var kind: Kind
    var position: YAMLPosition
    var hasAnchor = false
    var hasTag = false
}

/// libyaml's event parser over bytes that it owns.
@safe
final class YAMLEvents {
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let input: UnsafeMutableBufferPointer<UInt8>

    init(_ bytes: [UInt8]) {
        unsafe input = .allocate(capacity: max(bytes.count, 1))
        unsafe parser = .allocate(capacity: 1)
        unsafe input.initialize(repeating: 0)
        for index in bytes.indices { unsafe input[index] = bytes[index] }
        let status = unsafe yaml_parser_initialize(parser)
        precondition(status == 1, "out of memory")
        unsafe yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        unsafe yaml_parser_set_input_string(parser, input.baseAddress, bytes.count)
    }

    deinit {
        unsafe yaml_parser_delete(parser)
        unsafe parser.deallocate()
        unsafe input.deallocate()
    }

    /// The next event that says something; the starts and ends of stream and document do not.
    func next() -> YAMLEvent {
        while true {
            var event = unsafe yaml_event_t()
            guard unsafe yaml_parser_parse(parser, &event) == 1 else { return failure() }
            defer { unsafe yaml_event_delete(&event) }
            if let read = unsafe YAMLEvents.read(event) { return read }
        }
    }

    /// nil for the events that carry nothing.
    private static func read(_ event: yaml_event_t) -> YAMLEvent? {
        let position = unsafe position(event.start_mark)
        switch unsafe event.type {
        case YAML_STREAM_END_EVENT: return YAMLEvent(kind: .end, position: position)
        case YAML_SCALAR_EVENT:
            let scalar = unsafe event.data.scalar
            let bytes = unsafe UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            let text = unsafe String(decoding: bytes, as: UTF8.self)
            let isPlain = unsafe scalar.style == YAML_PLAIN_SCALAR_STYLE
            return unsafe YAMLEvent(
                kind: .scalar(text, isPlain: isPlain),
                position: position,
                hasAnchor: scalar.anchor != nil,
                hasTag: scalar.tag != nil
            )
        case YAML_SEQUENCE_START_EVENT:
            let start = unsafe event.data.sequence_start
            return unsafe YAMLEvent(
                kind: .sequenceStart,
                position: position,
                hasAnchor: start.anchor != nil,
                hasTag: start.tag != nil
            )
        case YAML_MAPPING_START_EVENT:
            let start = unsafe event.data.mapping_start
            return unsafe YAMLEvent(
                kind: .mappingStart,
                position: position,
                hasAnchor: start.anchor != nil,
                hasTag: start.tag != nil
            )
        case YAML_SEQUENCE_END_EVENT: return YAMLEvent(kind: .sequenceEnd, position: position)
        case YAML_MAPPING_END_EVENT: return YAMLEvent(kind: .mappingEnd, position: position)
        case YAML_ALIAS_EVENT: return YAMLEvent(kind: .alias, position: position)
        default: return nil
        }
    }

    private func failure() -> YAMLEvent {
        let state = unsafe parser.pointee
        let mark = unsafe state.problem_mark
        let text = unsafe state.problem.map { unsafe String(cString: $0) } ?? "the text is not YAML"
        return YAMLEvent(kind: .failure("not YAML: \(text)"), position: YAMLEvents.position(mark))
    }

    private static func position(_ mark: yaml_mark_t) -> YAMLPosition {
        YAMLPosition(
            line: Int(truncatingIfNeeded: mark.line) + 1,
            column: Int(truncatingIfNeeded: mark.column) + 1
        )
    }
}
