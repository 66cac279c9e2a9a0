// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Telemetry

/// Why a process could not be set up: one line for people, with what to do where that is known.
package struct ProcessFault: Error, Equatable {
    package let message: String
    package let nextSteps: [String]

    package init(_ message: String, nextSteps: [String] = []) {
        self.message = message
        self.nextSteps = nextSteps
    }

    package init(doing: String, _ fault: FileFault) {
        self.init("cannot \(doing): \(fault.message)")
    }

    package init(doing: String, errno: CInt, nextSteps: [String] = []) {
        self.init("cannot \(doing): \(systemMessage(errno))", nextSteps: nextSteps)
    }
}
