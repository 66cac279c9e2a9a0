// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What one window says about one request.
package struct WindowVerdict: Sendable, Equatable {
    /// Whether the window had room; a shadow window without room refuses nothing.
    package var isAdmitted: Bool
    /// Units left after this request.
    package var remaining: Int
    /// Until the oldest unit leaves where admitted, until the same call would fit where refused.
    ///
    /// Nil: it never will.
    package var resetMilliseconds: Int64?

    package init(isAdmitted: Bool, remaining: Int, resetMilliseconds: Int64?) {
        self.isAdmitted = isAdmitted
        self.remaining = remaining
        self.resetMilliseconds = resetMilliseconds
    }

    /// Whole seconds, never less than `resetMilliseconds` and at least 1.
    package var resetSeconds: Int {
        guard let resetMilliseconds else { return 0 }
        return Int(max(1, (resetMilliseconds + 999) / 1000))
    }
}
