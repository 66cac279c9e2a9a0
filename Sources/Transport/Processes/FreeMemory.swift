// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import CLinux

/// The allocator's free memory.
package enum FreeMemory {
    /// Gives free pages back to the kernel; takes some milliseconds, so only while nothing else is to be done.
    package static func giveBack() {
        _ = sp_malloc_trim(0)
    }
}
