// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

extension KnownField {
    /// The field `name` stands for, letters of either case alike.
    package init(_ name: Span<UInt8>) {
        self = .other
    }
}
