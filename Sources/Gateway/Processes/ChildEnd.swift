// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// How a child ended.
enum ChildEnd: Equatable {
    case exited(CInt)
    case killed(CInt)

    /// The child has said what is wrong with the configuration or the machine; a restart would not help.
    static let misconfigured: CInt = 78

    /// Takes `waitpid`'s status apart: the low seven bits are the signal, the next byte is the code.
    init(_ status: CInt) {
        self = status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .killed(status & 0x7F)
    }

    var text: String {
        switch self {
        case .exited(let code): "exit \(code)"
        case .killed(SIGKILL): "SIGKILL"
        case .killed(SIGILL), .killed(SIGTRAP): "a trap (its report, where there is one, is above)"
        case .killed(SIGSEGV): "SIGSEGV"
        case .killed(let number): "signal \(number)"
        }
    }
}
