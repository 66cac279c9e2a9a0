// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Attestation

/// Everything on disk that decides whose proofs count: the bundle, and the status list that was fetched.
package struct TrustFiles: Sendable {
    private let directory: TrustDirectory
    /// The fetched list.
    package let statusList: StatusListFile

    /// The files of a gateway.
    package init(_ settings: TrustSettings, _ paths: StatePaths) {
        directory = TrustDirectory(path: settings.directory)
        statusList = StatusListFile(path: paths.statusList)
    }

    /// What counts now: the newer of the bundle's own list and the fetched one.
    package func read() throws(TrustBundle.ParseError) -> TrustReading {
        let bundle = try directory.bundle()
        guard let copy = statusList.copy(), bundle.statusListTime.map({ $0 < copy.fetchedAt }) ?? true else {
            return TrustReading(bundle: bundle, copy: nil)
        }
        return TrustReading(
            bundle: bundle.replacing(statusList: copy.list, fetchedAt: copy.fetchedAt),
            copy: copy
        )
    }

    /// Differs once a file was written or replaced.
    ///
    /// Of a bundle the manifest counts: it names its files by their fingerprints.
    var versions: [FileVersion?] {
        let manifest = directory.path.map { "\($0)/\(TrustBundle.manifestName)" }
        return [manifest.flatMap(Files.version), Files.version(statusList.path)]
    }
}

/// What was read of the trust files.
package struct TrustReading: Sendable {
    /// What proofs are judged by.
    package let bundle: TrustBundle
    /// The fetched list, where it is the one in the bundle.
    package let copy: StatusListFile.Copy?
}

extension TrustDirectory {
    /// The bundle, or why there is none.
    var reading: Result<TrustBundle, TrustBundle.ParseError> {
        Result { () throws(TrustBundle.ParseError) in try bundle() }
    }
}
