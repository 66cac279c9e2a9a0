// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import COpenSSL
import Glibc

/// What protects a stream.
enum StreamSecurity {
    case none
    case server(TLSServerContext)
    case client(TLSClientContext, serverName: String)
}
