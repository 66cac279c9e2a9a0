// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import CLinux
import Glibc

/// What the operating system knows about this process.
package enum ThisProcess {
    /// Asks the kernel to send `signal` when the parent dies.
    package static func dieWithParent(_ signal: CInt = SIGTERM) {
        sp_prctl_set_parent_death_signal(signal)
    }

    /// Gives free heap memory back to the system; 3-7 ms, for a timer after many connections closed.
    package static func trimHeap() {
        sp_malloc_trim(0)
    }
}
