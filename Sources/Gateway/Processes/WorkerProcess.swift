// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// The child with the worker role.
enum WorkerProcess {
    static func run(_ order: ChildOrder, index: Int, environment: [String: String]) throws(ProcessFault) -> Int32 {
        throw ProcessFault("this build has no worker yet")
    }
}

/// All roles in one process, for debuggers and sanitizers.
enum SingleProcess {
    static func run(
        _ plan: SupervisorPlan,
        _ configuration: Configuration,
        _ environment: [String: String]
    ) throws(ProcessFault) -> ProcessFault? {
        throw ProcessFault("this build has no worker yet")
    }
}
