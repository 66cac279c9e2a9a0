// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import COpenSSL
import Glibc

extension ByteStream {
    func prepareSecurity() throws(StreamFailure) {}
    func beginHandshake() {}
    func continueHandshake() {}
    func fillFromTLS() -> Filling { .drained }
    func sendThroughTLS() {}
    func notifyClose() {}
}
