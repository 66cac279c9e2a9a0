// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import CHiredis

/// hiredis' reply parser, writing into a tape instead of making objects; one for each connection.
@safe
final class RedisReplyReader {
    /// The reply of the last `next()` that returned true.
    let tape = RedisReplyTape()
    private let reader: UnsafeMutablePointer<redisReader>
    private let functions: UnsafeMutablePointer<redisReplyObjectFunctions>

    /// A reply longer than this is a broken server, not data of ours.
    static let longestReply = 64 << 20
    /// No script or command of ours returns more elements.
    fileprivate static let mostElements: CInt = 1 << 20

    init() {
        unsafe functions = .allocate(capacity: 1)
        unsafe functions.initialize(
            to: redisReplyObjectFunctions(
                createString: redisReplyString,
                createArray: redisReplyArray,
                createInteger: redisReplyInteger,
                createNil: redisReplyNil,
                freeObject: redisReplyFree
            )
        )
        guard let made = unsafe redisReaderCreateWithFunctions(functions) else {
            preconditionFailure("out of memory")
        }
        unsafe reader = made
        // The tape lives as long as the reader; the callbacks run inside `next()` only.
        unsafe reader.pointee.privdata = Unmanaged.passUnretained(tape).toOpaque()
    }

    deinit {
        unsafe redisReaderFree(reader)
        unsafe functions.deallocate()
    }

    /// Takes bytes from the connection.
    func feed(_ bytes: Span<UInt8>) throws(StoreError) {
        guard bytes.count > 0 else { return }
        let status = unsafe bytes.withUnsafeBytes { raw in
            unsafe redisReaderFeed(reader, raw.baseAddress?.assumingMemoryBound(to: CChar.self), raw.count)
        }
        let held = unsafe reader.pointee.len
        guard status == REDIS_OK, held <= Self.longestReply else { throw .malformed("longer than any reply") }
    }

    /// Reads the next complete reply onto the tape; false where more bytes are needed.
    func next() throws(StoreError) -> Bool {
        var reply: UnsafeMutableRawPointer?
        guard unsafe redisReaderGetReply(reader, &reply) == REDIS_OK else {
            throw .malformed("not RESP")
        }
        return unsafe reply != nil
    }

    /// Makes room for the next reply.
    func discard() {
        tape.removeAll()
    }
}

/// What the reader keeps instead of an object: any address but nil, never read.
private nonisolated func placeholder(_ task: UnsafePointer<redisReadTask>) -> UnsafeMutableRawPointer? {
    unsafe task.pointee.privdata
}

private nonisolated func append(
    to task: UnsafePointer<redisReadTask>,
    _ body: (RedisReplyTape) -> Void
) -> UnsafeMutableRawPointer? {
    guard let pointer = unsafe task.pointee.privdata else { return nil }
    unsafe Unmanaged<RedisReplyTape>.fromOpaque(pointer)._withUnsafeGuaranteedRef { body($0) }
    return unsafe placeholder(task)
}

private nonisolated func redisReplyString(
    _ task: UnsafePointer<redisReadTask>?,
    _ text: UnsafeMutablePointer<CChar>?,
    _ length: Int
) -> UnsafeMutableRawPointer? {
    guard let task = unsafe task else { return nil }
    let kind: RedisReplyTape.Kind =
        switch unsafe task.pointee.type {
        case REDIS_REPLY_STATUS: .status
        case REDIS_REPLY_ERROR: .error
        default: .bytes
        }
    let start = unsafe UnsafeRawPointer(text)?.assumingMemoryBound(to: UInt8.self)
    let bytes = unsafe UnsafeBufferPointer(start: start, count: unsafe start == nil ? 0 : length)
    return unsafe append(to: task) { tape in unsafe tape.append(kind, bytes.span) }
}

private nonisolated func redisReplyArray(
    _ task: UnsafePointer<redisReadTask>?,
    _ count: CInt
) -> UnsafeMutableRawPointer? {
    guard let task = unsafe task, count >= 0, count <= RedisReplyReader.mostElements else { return nil }
    return unsafe append(to: task) { $0.append(.array, value: Int(count)) }
}

private nonisolated func redisReplyInteger(
    _ task: UnsafePointer<redisReadTask>?,
    _ value: CLongLong
) -> UnsafeMutableRawPointer? {
    guard let task = unsafe task else { return nil }
    return unsafe append(to: task) { $0.append(.integer, value: Int(value)) }
}

private nonisolated func redisReplyNil(_ task: UnsafePointer<redisReadTask>?) -> UnsafeMutableRawPointer? {
    guard let task = unsafe task else { return nil }
    return unsafe append(to: task) { $0.append(.null) }
}

private nonisolated func redisReplyFree(_ reply: UnsafeMutableRawPointer?) {}
