// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// What the system says about an error number.
package func systemMessage(_ errno: CInt) -> String {
    let message = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { room in
        guard let start = room.baseAddress, unsafe strerror_r(errno, start, room.count) == 0 else {
            return "error \(errno)"
        }
        return unsafe String(cString: start)
    }
    return message
}
