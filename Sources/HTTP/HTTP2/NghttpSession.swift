// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import CNghttp2

/// The frame layer of one HTTP/2 connection: nghttp2 behind checked Swift values.
///
/// Owned by one `HTTP2Session`, which hears of everything. The library calls back only from inside `receive` and
/// `send`; both are plain synchronous calls of the owner. With its callbacks the one place that knows the C library.
@safe
final class NghttpSession {
    /// Which head a block of fields is.
    enum BlockKind {
        case request, response, later
    }

    private let session: OpaquePointer
    private let isServer: Bool
    /// A header block as the library wants it, while it is handed over.
    private var fields: [nghttp2_nv] = unsafe []
    /// What `send` fills.
    var output = ByteBuffer()

    /// Nil only without memory.
    init?(isServer: Bool, settings: HTTP2Settings) {
        var callbacks: OpaquePointer?
        var option: OpaquePointer?
        guard unsafe nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
        defer { unsafe nghttp2_session_callbacks_del(callbacks) }
        guard unsafe nghttp2_option_new(&option) == 0 else { return nil }
        defer { unsafe nghttp2_option_del(option) }
        unsafe setCallbacks(callbacks)
        // Windows are credited when bytes have left for the other side, not when they arrive.
        unsafe nghttp2_option_set_no_auto_window_update(option, 1)
        // Streams that are over are not kept for the priority tree, which nobody uses.
        unsafe nghttp2_option_set_no_closed_streams(option, 1)
        // Ours is the limit that counts. The library counts every piece of a frame's nine bytes.
        unsafe nghttp2_option_set_max_continuations(option, 9 * (settings.continuations + 2))
        unsafe nghttp2_option_set_peer_max_concurrent_streams(option, 100)
        var created: OpaquePointer?
        let code =
            unsafe isServer
            ? nghttp2_session_server_new2(&created, callbacks, nil, option)
            : nghttp2_session_client_new2(&created, callbacks, nil, option)
        guard code == 0, let created = unsafe created else { return nil }
        unsafe session = created
        self.isServer = isServer
        announce(settings)
    }

    deinit {
        unsafe nghttp2_session_del(session)
    }

    /// Names the session that hears of frames; it owns this one, so it outlives every call.
    func listen(_ owner: HTTP2Session) {
        unsafe nghttp2_session_set_user_data(session, Unmanaged.passUnretained(owner).toOpaque())
    }

    private func announce(_ settings: HTTP2Settings) {
        var entries = [
            entry(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, isServer ? settings.concurrentStreams : 0),
            entry(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, settings.streamWindow),
            entry(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, settings.heads.fieldBytes + settings.heads.startLine),
        ]
        // RFC 9113 6.5.2: only a client can be pushed to.
        if !isServer { entries.append(entry(NGHTTP2_SETTINGS_ENABLE_PUSH, 0)) }
        unsafe entries.withUnsafeBufferPointer { entries in
            _ = unsafe nghttp2_submit_settings(
                session,
                UInt8(NGHTTP2_FLAG_NONE.rawValue),
                entries.baseAddress,
                entries.count
            )
        }
        let window = Int32(clamping: settings.connectionWindow)
        unsafe nghttp2_session_set_local_window_size(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, window)
    }

    private func entry(_ id: nghttp2_settings_id, _ value: Int) -> nghttp2_settings_entry {
        nghttp2_settings_entry(settings_id: Int32(id.rawValue), value: UInt32(clamping: value))
    }

    // MARK: Bytes

    /// Takes all of `bytes`; false when the connection is broken beyond answering or the owner had enough.
    func receive(_ bytes: Span<UInt8>) -> Bool {
        guard bytes.count > 0 else { return true }
        return unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe nghttp2_session_mem_recv(session, bytes.baseAddress, bytes.count) == bytes.count
        }
    }

    /// Appends what is to be sent to `buffer` until it holds `limit` bytes; false when the connection is broken.
    func send(into buffer: inout ByteBuffer, limit: Int) -> Bool {
        swap(&output, &buffer)
        defer { swap(&output, &buffer) }
        while output.count < limit {
            var start: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(session, &start)
            if count == 0 { return true }
            guard count > 0 else { return false }
            let block = unsafe Span(_unsafeElements: UnsafeBufferPointer(start: start, count: count))
            output.append(block)
        }
        return true
    }

    /// Whether anything is to be sent.
    var wantsWrite: Bool { unsafe nghttp2_session_want_write(session) != 0 }

    /// Whether anything more is expected from the peer.
    var wantsRead: Bool { unsafe nghttp2_session_want_read(session) != 0 }

    // MARK: Commands

    /// Gives the peer room for `count` more bytes on the stream and the connection.
    func credit(_ count: Int, stream: Int32) {
        unsafe nghttp2_session_consume(session, stream, count)
    }

    /// Gives the peer room for `count` more bytes on the stream alone.
    func creditStream(_ count: Int, stream: Int32) {
        unsafe nghttp2_session_consume_stream(session, stream, count)
    }

    /// Gives the peer room for `count` more bytes on the connection alone.
    func creditConnection(_ count: Int) {
        unsafe nghttp2_session_consume_connection(session, count)
    }

    /// Opens a stream; nil when the peer takes no more, ever.
    func request(_ block: borrowing HeaderBlock, hasBody: Bool) -> Int32? {
        let id = unsafe withFields(block) { fields, count in
            guard hasBody else { return unsafe nghttp2_submit_request(session, nil, fields, count, nil, nil) }
            var provider = unsafe dataProvider()
            return unsafe nghttp2_submit_request(session, nil, fields, count, &provider, nil)
        }
        return id > 0 ? id : nil
    }

    /// Answers a stream.
    @discardableResult
    func respond(_ block: borrowing HeaderBlock, stream: HTTP2Stream, hasBody: Bool) -> Bool {
        unsafe withFields(block) { fields, count in
            guard hasBody else { return unsafe nghttp2_submit_response(session, stream.id, fields, count, nil) }
            var provider = unsafe dataProvider()
            // Not retained: the session keeps the stream until the library has closed it and its body.
            unsafe provider.source.ptr = Unmanaged.passUnretained(stream).toOpaque()
            return unsafe nghttp2_submit_response(session, stream.id, fields, count, &provider)
        } == 0
    }

    /// Sends an interim answer.
    @discardableResult
    func respondInterim(_ block: borrowing HeaderBlock, stream: Int32) -> Bool {
        unsafe withFields(block) { fields, count in
            unsafe nghttp2_submit_headers(
                session,
                UInt8(NGHTTP2_FLAG_NONE.rawValue),
                stream,
                nil,
                fields,
                count,
                nil
            )
        } == 0
    }

    func sendTrailers(_ block: borrowing HeaderBlock, stream: Int32) {
        _ = unsafe withFields(block) { fields, count in
            unsafe nghttp2_submit_trailer(session, stream, fields, count)
        }
    }

    /// Tells the library that a stream which had nothing to send has something now.
    func resume(_ stream: Int32) {
        unsafe nghttp2_session_resume_data(session, stream)
    }

    /// Ends a stream.
    func reset(_ stream: Int32, _ code: HTTP2ErrorCode) {
        unsafe nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, code.rawValue)
    }

    /// Asks whether the peer is still there.
    func ping() {
        unsafe nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
    }

    /// Says that the connection is about to end, without refusing what is under way.
    func announceShutdown() {
        unsafe nghttp2_submit_shutdown_notice(session)
    }

    /// Says that no stream after those already seen is taken, and which the last of them is.
    func goAway(_ code: HTTP2ErrorCode) -> Int32 {
        let last = unsafe nghttp2_session_get_last_proc_stream_id(session)
        unsafe nghttp2_submit_goaway(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), last, code.rawValue, nil, 0)
        return last
    }

    /// Ends the connection as soon as the peer has been told why.
    func terminate(_ code: HTTP2ErrorCode) {
        unsafe nghttp2_session_terminate_session(session, code.rawValue)
    }

    /// The streams the peer lets us have open at once.
    var peerConcurrentStreams: Int {
        let count = unsafe nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
        return Int(clamping: count)
    }

    // MARK: Fields

    private func withFields(
        _ block: borrowing HeaderBlock,
        _ body: (UnsafePointer<nghttp2_nv>?, Int) -> Int32
    ) -> Int32 {
        unsafe block.bytes.bytes.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return -1 }
            unsafe fields.removeAll(keepingCapacity: true)
            for entry in block.entries {
                // The library copies names and values and promises not to write.
                let start = unsafe UnsafeMutablePointer(mutating: base + entry.start)
                let flag = entry.isSensitive ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE
                unsafe fields.append(
                    nghttp2_nv(
                        name: start,
                        value: start + entry.nameLength,
                        namelen: entry.nameLength,
                        valuelen: entry.valueLength,
                        flags: UInt8(truncatingIfNeeded: flag.rawValue)
                    )
                )
            }
            return unsafe fields.withUnsafeBufferPointer { unsafe body($0.baseAddress, $0.count) }
        }
    }

    private func dataProvider() -> nghttp2_data_provider {
        unsafe nghttp2_data_provider(source: nghttp2_data_source(), read_callback: dataWanted)
    }
}
