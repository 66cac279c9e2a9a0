// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import CNghttp2

/// All callbacks get the session that `listen` named, which is alive while its frame layer is inside a call of its own.
@inline(__always)
private func owner(of userData: UnsafeMutableRawPointer?) -> HTTP2Session? {
    guard let userData = unsafe userData else { return nil }
    return unsafe Unmanaged<HTTP2Session>.fromOpaque(userData).takeUnretainedValue()
}

func setCallbacks(_ callbacks: OpaquePointer?) {
    unsafe nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, frameBegan)
    unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, blockBegan)
    unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, fieldReceived)
    unsafe nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, fieldIgnored)
    unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frameReceived)
    unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, dataReceived)
    unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, streamClosed)
    unsafe nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, frameSent)
    unsafe nghttp2_session_callbacks_set_send_data_callback(callbacks, sendData)
}

private let failure = Int32(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)

private func frameBegan(
    _: OpaquePointer?,
    _ header: UnsafePointer<nghttp2_frame_hd>?,
    _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let header = unsafe header?.pointee, let owner = unsafe owner(of: userData) else { return failure }
    let isAllowed = owner.frameBegan(type: header.type, flags: header.flags, length: header.length)
    return isAllowed ? 0 : failure
}

private func blockBegan(
    _: OpaquePointer?,
    _ frame: UnsafePointer<nghttp2_frame>?,
    _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame?.pointee, let owner = unsafe owner(of: userData) else { return failure }
    let kind: NghttpSession.BlockKind =
        switch unsafe frame.headers.cat {
        case NGHTTP2_HCAT_REQUEST: .request
        case NGHTTP2_HCAT_RESPONSE: .response
        default: .later
        }
    owner.blockBegan(kind, stream: unsafe frame.hd.stream_id)
    return 0
}

private func fieldReceived(
    _: OpaquePointer?,
    _ frame: UnsafePointer<nghttp2_frame>?,
    _ name: UnsafePointer<UInt8>?,
    _ nameLength: Int,
    _ value: UnsafePointer<UInt8>?,
    _ valueLength: Int,
    _: UInt8,
    _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame, let owner = unsafe owner(of: userData) else { return failure }
    let name = unsafe Span(_unsafeElements: UnsafeBufferPointer(start: name, count: nameLength))
    let value = unsafe Span(_unsafeElements: UnsafeBufferPointer(start: value, count: valueLength))
    let isAllowed = owner.fieldReceived(name, value, stream: unsafe frame.pointee.hd.stream_id)
    return isAllowed ? 0 : failure
}

/// The library would leave the field out of the message, which would then not be the one that was sent.
private func fieldIgnored(
    _: OpaquePointer?,
    _: UnsafePointer<nghttp2_frame>?,
    _: UnsafePointer<UInt8>?,
    _: Int,
    _: UnsafePointer<UInt8>?,
    _: Int,
    _: UInt8,
    _: UnsafeMutableRawPointer?
) -> Int32 {
    Int32(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
}

private func frameReceived(
    _: OpaquePointer?,
    _ frame: UnsafePointer<nghttp2_frame>?,
    _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame, let owner = unsafe owner(of: userData) else { return failure }
    let header = unsafe frame.pointee.hd
    let endsStream = header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
    switch UInt32(header.type) {
    case NGHTTP2_HEADERS.rawValue:
        owner.blockEnded(stream: header.stream_id, endsStream: endsStream)
    case NGHTTP2_DATA.rawValue:
        if endsStream {
            owner.streamEnded(header.stream_id)
        } else if header.length > 0, unsafe frame.pointee.data.padlen >= header.length {
            return owner.paddingCame() ? 0 : failure
        }
    case NGHTTP2_GOAWAY.rawValue:
        let code = unsafe HTTP2ErrorCode(rawValue: frame.pointee.goaway.error_code)
        owner.goAwayReceived(lastStream: unsafe frame.pointee.goaway.last_stream_id, code)
    case NGHTTP2_PING.rawValue:
        if header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0 { owner.pongReceived() }
    default:
        break
    }
    return 0
}

private func dataReceived(
    _: OpaquePointer?,
    _: UInt8,
    _ stream: Int32,
    _ data: UnsafePointer<UInt8>?,
    _ length: Int,
    _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let owner = unsafe owner(of: userData) else { return failure }
    owner.dataReceived(unsafe Span(_unsafeElements: UnsafeBufferPointer(start: data, count: length)), stream: stream)
    return 0
}

private func streamClosed(
    _: OpaquePointer?,
    _ stream: Int32,
    _ code: UInt32,
    _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let owner = unsafe owner(of: userData) else { return failure }
    owner.streamClosed(stream, HTTP2ErrorCode(rawValue: code))
    return 0
}

private func frameSent(
    _: OpaquePointer?,
    _ frame: UnsafePointer<nghttp2_frame>?,
    _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame, let owner = unsafe owner(of: userData) else { return failure }
    let header = unsafe frame.pointee.hd
    switch UInt32(header.type) {
    case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
        owner.frameSent(stream: header.stream_id)
        if header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 { owner.endSent(stream: header.stream_id) }
    case NGHTTP2_RST_STREAM.rawValue:
        owner.resetSent(stream: header.stream_id, HTTP2ErrorCode(rawValue: unsafe frame.pointee.rst_stream.error_code))
    case NGHTTP2_GOAWAY.rawValue:
        owner.goAwaySent(HTTP2ErrorCode(rawValue: unsafe frame.pointee.goaway.error_code))
    default:
        break
    }
    return 0
}

/// The stream whose body is wanted: named by the provider where it was known, else looked up.
private func body(
    _ source: UnsafeMutablePointer<nghttp2_data_source>?,
    _ owner: HTTP2Session,
    _ id: Int32
) -> HTTP2Stream? {
    guard let pointer = unsafe source?.pointee.ptr else { return owner.stream(id) }
    return unsafe Unmanaged<HTTP2Stream>.fromOpaque(pointer).takeUnretainedValue()
}

/// The library asks how much of a stream's body may go into the next DATA frame.
func dataWanted(
    _: OpaquePointer?,
    _ stream: Int32,
    _: UnsafeMutablePointer<UInt8>?,
    _ length: Int,
    _ flags: UnsafeMutablePointer<UInt32>?,
    _ source: UnsafeMutablePointer<nghttp2_data_source>?,
    _ userData: UnsafeMutableRawPointer?
) -> Int {
    guard let owner = unsafe owner(of: userData), let stream = unsafe body(source, owner, stream) else {
        return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
    }
    let count = min(length, stream.outbound.count)
    let isLast = stream.isOutboundEnded && count == stream.outbound.count
    if count == 0, !isLast {
        stream.isDeferred = true
        return Int(NGHTTP2_ERR_DEFERRED.rawValue)
    }
    var mark = NGHTTP2_DATA_FLAG_NO_COPY.rawValue
    if isLast {
        mark |= NGHTTP2_DATA_FLAG_EOF.rawValue
        if stream.hasOutboundTrailers {
            mark |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
            owner.frames.sendTrailers(stream.outboundTrailers, stream: stream.id)
        }
    }
    unsafe flags?.pointee |= mark
    return count
}

/// The library has a DATA frame ready but for its content, which goes straight into the output.
private func sendData(
    _: OpaquePointer?,
    _ frame: UnsafeMutablePointer<nghttp2_frame>?,
    _ header: UnsafePointer<UInt8>?,
    _ length: Int,
    _ source: UnsafeMutablePointer<nghttp2_data_source>?,
    _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let owner = unsafe owner(of: userData), let frame = unsafe frame,
        let stream = unsafe body(source, owner, frame.pointee.hd.stream_id), stream.outbound.count >= length
    else { return Int32(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue) }
    owner.frames.output.append(unsafe Span(_unsafeElements: UnsafeBufferPointer(start: header, count: 9)))
    let isCutSmall = length < HTTP2Session.tinyFrame && stream.outbound.count > length
    stream.outbound.move(length, to: &owner.frames.output)
    stream.sentCount &+= length
    if isCutSmall { owner.windowWasTiny() }
    owner.dataSent(stream, length)
    return 0
}
