// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import WireProperties

/// The body that `SALLYPORT_FUZZ_TARGET` names.
private let body: @Sendable ([UInt8]) -> Void = {
    let name = unsafe getenv("SALLYPORT_FUZZ_TARGET").map { unsafe String(cString: $0) } ?? ""
    guard let target = WireTargets.all.first(where: { $0.name == name }) else {
        preconditionFailure("SALLYPORT_FUZZ_TARGET is one of \(WireTargets.all.map(\.name))")
    }
    return target.body
}()

@c(LLVMFuzzerTestOneInput)
func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    body(unsafe Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}
