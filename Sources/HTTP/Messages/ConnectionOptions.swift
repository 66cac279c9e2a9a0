// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What the `Connection` fields of one message ask for; names of fields are marked in the field table itself.
package struct ConnectionOptions: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The sender closes after this message.
    package static let close = ConnectionOptions(rawValue: 1)
    /// An HTTP/1.0 sender keeps the connection.
    package static let keepAlive = ConnectionOptions(rawValue: 2)
    /// The `Upgrade` field counts.
    package static let upgrade = ConnectionOptions(rawValue: 4)
    /// The `TE` field counts.
    package static let te = ConnectionOptions(rawValue: 8)
}
