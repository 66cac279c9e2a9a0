// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store

extension [RegistryProblem] {
    /// The member of a list that says what it lacks, and what of it the gateway does not use; empty where all is well.
    var member: (String, JSONValue) {
        let items = map { JSONValue.object([("what", .string($0.what)), ("reason", .string($0.reason))]) }
        return ("problems", .array(items))
    }
}

extension AdminRoutes {
    /// Every app, and what is wrong with the list of them.
    func allApps(of organization: OrganizationID? = nil) async throws(AdminProblem) -> RegistryListing<AppRecord> {
        try await registryCall { () async throws(RegistryError) in try await registry.apps(of: organization) }
    }
}
