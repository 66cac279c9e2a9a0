// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Where things lie in the state directory (0700, its files 0600).
package struct StatePaths: Sendable, Equatable {
    /// The directory itself, absolute.
    package let directory: String

    package init(directory: String) {
        self.directory = directory
    }

    /// Lock and process id of the supervisor: two on one directory would share one Redis and one set of slots.
    package var lock: String { "\(directory)/sallyport.pid" }
    /// What this machine calls itself among those that share a Redis.
    package var node: String { "\(directory)/node" }
    /// Which registry this node belongs to.
    package var registry: String { "\(directory)/registry" }
    package var keys: String { "\(directory)/keys" }
    /// The pepper of keyed hashes of API keys and secrets.
    package var pepper: String { "\(keys)/pepper" }
    /// The key that seals tickets and signing keys kept in Redis.
    package var sealing: String { "\(keys)/seal" }
    package var run: String { "\(directory)/run" }
    /// The status list of Android certificates as it was fetched last.
    package var statusList: String { "\(directory)/status-list.json" }
    package var redis: String { "\(directory)/redis" }
    /// The text of the configuration in force.
    package var configuration: String { "\(run)/configuration" }
    package var control: String { "\(run)/control" }
    package var supervisor: String { "\(run)/supervisor" }

    /// The metrics slot of a worker.
    package func worker(_ index: Int) -> String { "\(run)/worker-\(index)" }
}
