// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Telemetry
import Transport

extension Exchange {
    /// Bytes of the client after a switch of protocols.
    func relayedFromClient(_ bytes: Span<UInt8>) {
        facts.bytesIn &+= bytes.count
        guard let upstream else { return }
        upstream.sendRelayed(bytes)
        if upstream.isCongested { client?.pauseBody() }
    }

    /// One side of a relay has sent all it has; the relay ends with the other.
    func relayEnded(by side: RelaySide) {
        guard stage == .relaying else { return }
        guard relayEnd == nil || relayEnd == side else {
            upstream?.endRelay()
            upstream = nil
            client?.abort()
            return finish()
        }
        relayEnd = side
        switch side {
        case .client: upstream?.finishRelay()
        case .upstream: client?.finishRelay()
        }
    }

    /// The rest of the frame that is under way, then the end.
    func relayEnding(_ bytes: Span<UInt8>, to client: any ClientSide) {
        let count = facts.frames.advanceToBoundary(bytes)
        client.sendRelayed(bytes.extracting(0..<count))
        endStream(insists: false)
    }

    /// Ends the answer before its time; a WebSocket is told why, between two frames of its upstream,
    /// unless one of them goes on for too long.
    func endStream(insists: Bool) {
        guard let ending = facts.endingStream, let client else { return }
        switch stage {
        case .relaying:
            guard facts.frames.isAtBoundary || insists else { return }
            if facts.frames.isAtBoundary, !facts.frames.hasClosed {
                let frame = WebSocketFrames.close(code: ending.closeCode, reason: ending.rawValue)
                client.sendRelayed(frame.span)
            }
            upstream?.endRelay()
            upstream = nil
            client.endRelay()
        case .answering:
            breakOff(with: GRPCEnding.trailers(for: ending))
            detachUpstream(keep: false)
        case .sending:
            // A call that talks before it is answered: the refusal is the whole answer.
            worker.metrics.count(ending)
            return pipeline.end(self, ending)
        case .idle, .judging, .leasing, .finished:
            return
        }
        facts.reason = ending.rawValue
        worker.metrics.count(ending)
        finish()
    }

    /// Ends an answer whose upstream ended it before it was whole: what came of it still goes out.
    func endShort(with trailers: @autoclosure () -> FieldTable) {
        if request.isGRPC, response.endsWithGRPCTrailers {
            client?.sendEnd(self, trailers: trailers())
        } else {
            client?.endShort()
        }
    }

    /// Ends an answer that has begun: a gRPC caller is told why by trailers, another sees only that it is not whole.
    func breakOff(with trailers: @autoclosure () -> FieldTable) {
        if request.isGRPC, response.endsWithGRPCTrailers {
            client?.sendEnd(self, trailers: trailers())
        } else {
            client?.abort()
        }
    }
}
