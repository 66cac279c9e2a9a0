// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// A caller that waits for a value; whoever keeps it resumes it exactly once.
@safe
struct ParkedCaller<Value: Sendable>: Sendable {
    private let continuation: UnsafeContinuation<Value, Never>

    /// Parks the caller and hands it to `keep`.
    static func park(_ keep: (ParkedCaller) -> Void) async -> Value {
        unsafe await withUnsafeContinuation { unsafe keep(ParkedCaller(continuation: $0)) }
    }

    func resume(returning value: Value) {
        unsafe continuation.resume(returning: value)
    }
}
