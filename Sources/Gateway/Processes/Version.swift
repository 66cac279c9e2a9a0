// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What this build calls itself.
package enum Version {
    package static let text = "0.1.0"
}
