// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials
import Encodings

extension RegistryStore {
    /// Revokes, and writes `events` into the history of `app`; wait for the number with `waitApplied`.
    package func revoke(
        _ revocation: Revocation,
        app: RecordID,
        organization: OrganizationID,
        by: String,
        events: [HistoryEvent]
    ) async throws(RegistryError) -> Int {
        let tokens = text(of: revocation.tokenList)
        let marks = text(of: revocation.markList)
        var json = JSONWriter(capacity: 512)
        json.beginObject()
        json.member("id", app.rawValue)
        json.member("organization", organization.rawValue)
        json.member("by", by)
        json.name("tokens")
        json.value(revocation.tokenList)
        json.name("marks")
        json.value(revocation.markList)
        json.name("events")
        HistoryEvent.write(events, to: &json)
        json.endObject()
        let reply = try await write(
            RegistryScripts.revoke,
            [.bytes(json.bytes), .text(tokens), .text(marks), .text(registryName)]
        )
        guard let sequence = reply.integer else { throw .store(.malformed("the answer to a revocation")) }
        return Int(sequence)
    }

    /// The store's time, by which marks that begin now are set, whatever the clock of the host that asks says.
    package func now() async throws(RegistryError) -> Int64 {
        do throws(StoreError) {
            return try await RedisRequirements.time(of: connection)
        } catch {
            throw .store(error)
        }
    }

    private func text(of value: JSONValue) -> String {
        var json = JSONWriter()
        json.value(value)
        return json.text
    }
}
