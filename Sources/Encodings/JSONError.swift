// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Why bytes are not the JSON they should be, and where.
package struct JSONError: Error, Equatable {
    /// What is wrong.
    package enum Code: Equatable, Sendable {
        case unexpectedEnd, unexpectedByte, illegalNumber, illegalEscape, illegalText
        case duplicateName, trailingBytes, tooLong, tooDeep, tooManyValues
    }

    /// What is wrong.
    package let code: Code
    /// The offset of the byte at which it was noticed.
    package let offset: Int

    /// An error at a byte.
    package init(code: Code, offset: Int) {
        self.code = code
        self.offset = offset
    }

    package static func == (left: JSONError, right: JSONError) -> Bool {
        left.code == right.code
    }
}
