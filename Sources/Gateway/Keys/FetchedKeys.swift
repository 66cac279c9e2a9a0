// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Store

/// A fetched set, read.
struct FetchedKeys: Sendable {
    let set: SharedKeySet
    let keys: VerificationKeySet

    /// When it stops to count, in milliseconds since 1970.
    var end: Int64 { self.set.fetchedAt + SharedKeySet.life }
}
