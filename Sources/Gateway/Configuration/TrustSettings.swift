// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Attestation

/// Whose word counts for native proofs, and what is fetched to judge them.
package struct TrustSettings: Sendable {
    /// The directory of a bundle; nil: the roots that the program carries.
    package var directory: String?
    /// Where the status list is fetched from; nil: nowhere.
    package var statusList: WebURL?
    /// The longest time between two fetches.
    package var interval: Duration
    /// Google's API that opens Play Integrity tokens.
    package var playIntegrity: WebURL
    /// How long a sign-in waits for it.
    package var playDeadline: Duration
    /// A PEM file of authorities to trust for these addresses; nil: the system's.
    package var authorities: String?
    /// The service account of apps that bring none: `VOUCH_PLAY_INTEGRITY_CREDENTIALS`.
    package var playAccount: ServiceAccount?
    /// The environments of App Attest keys in the vouch dialect: `VOUCH_APP_ATTEST_ENV`.
    package var environments: Set<AppAttestEnvironment>
}
