// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Crypto
import Encodings

/// An iOS app as registered: a team (or App ID prefix) and a bundle id, one pair.
package struct AppleApp: Hashable, Sendable {
    /// The ten characters of the team, or of the prefix that stands in its place.
    package let teamID: String
    /// The bundle id, case included.
    package let bundleID: String

    /// The pair of `teamID` and `bundleID`.
    package init(teamID: String, bundleID: String) {
        self.teamID = teamID
        self.bundleID = bundleID
    }

    /// What App Attest knows the app by: SHA-256 of `team.bundle`.
    package var identifierHash: Digest {
        SHA256.hash(Array("\(teamID).\(bundleID)".utf8))
    }
}

/// An Android app as registered: a package and the certificates that may have signed it.
package struct AndroidApp: Hashable, Sendable {
    /// The package name, case included.
    package let package: String
    /// SHA-256 digests of signing certificates.
    package let signers: [Digest]

    /// The pair of `package` and `signers`.
    package init(package: String, signers: [Digest]) {
        self.package = package
        self.signers = signers
    }

    /// The pair with fingerprints in hexadecimal, of either case, with or without colons; nil if one is none.
    package init?(package: String, fingerprints: [String]) {
        var signers: [Digest] = []
        for fingerprint in fingerprints {
            guard let digest = Self.digest(fingerprint: fingerprint) else { return nil }
            signers.append(digest)
        }
        self.init(package: package, signers: signers)
    }

    /// The digest that `fingerprint` writes, or nil.
    package static func digest(fingerprint: String) -> Digest? {
        let text = fingerprint.utf8.count == 95 ? fingerprint.filter { $0 != ":" } : fingerprint
        do {
            return Digest(try Hex.decode(text))
        } catch {
            return nil
        }
    }
}

/// Who vouches for an accepted proof.
package enum Provenance: String, Sendable, Hashable {
    /// Apple's or Google's authority.
    case vendor
    /// An operator's own lab authority: worth `development` trust and never more.
    case lab
}

/// A point in time, given by the caller: pure code reads no clock.
package struct Moment: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970 in UTC.
    package let milliseconds: Int64

    /// The moment `milliseconds` after 1970 began.
    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// The moment `seconds` after 1970 began.
    package init(seconds: Int64) {
        milliseconds = seconds * 1_000
    }

    /// Whole seconds since 1970, rounded down.
    package var seconds: Int64 {
        milliseconds >= 0 ? milliseconds / 1_000 : (milliseconds - 999) / 1_000
    }

    package static func < (left: Moment, right: Moment) -> Bool {
        left.milliseconds < right.milliseconds
    }
}
