// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials

/// The keys at rest as the control process starts with them, and which node this is.
struct ControlKeys {
    let source: KeySource
    let material: KeyMaterial
    /// One ring for everything of the process: a rotation changes it for all.
    let peppers: PepperRing
    let node: String

    init(_ paths: StatePaths, _ secrets: SecretSettings) throws(ProcessFault) {
        source = KeySource(paths, secrets)
        material = try source.load()
        peppers = try material.ring()
        node = try KeyFiles.node(paths)
    }
}
