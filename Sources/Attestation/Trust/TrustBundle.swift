// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
package import Encodings

/// The roots and the status list as one versioned set of files, checked against their fingerprints when read.
package struct TrustBundle: Sendable {
    /// What a root is for.
    package enum Purpose: String, Sendable {
        case apple, android
    }

    /// One root of the bundle.
    package struct Root: Sendable {
        /// The file that it came from.
        package let file: String
        /// What it is for.
        package let purpose: Purpose
        /// The certificate and its key.
        package let anchor: TrustAnchor
    }

    /// Why files are no bundle.
    package enum ParseError: Error, Equatable {
        /// The manifest is not JSON.
        case notJSON(JSONError)
        /// A member of the manifest is missing or has another shape.
        case manifest(String)
        /// A file that the manifest names is not there.
        case missing(String)
        /// A file is not what it should be: no certificate, another fingerprint, not signed by itself.
        case unusable(String)
    }

    /// The manifest's name in its directory.
    package static let manifestName = "bundle.json"

    /// What the manifest calls this set.
    package let version: String
    /// The roots in the manifest's order.
    package let roots: [Root]
    /// The serial numbers that no longer count.
    package let statusList: StatusList
    /// When the status list was fetched; nil if there is none.
    package let statusListTime: Moment?
    /// Proofs of known verdict to try the bundle on, by file.
    package let chains: [String]

    /// The bundle of a manifest and the files that it names.
    package init(manifest: [UInt8], file: (String) -> [UInt8]?) throws(ParseError) {
        let document: JSONValue
        do {
            document = try JSONValue(parsing: manifest, limits: .document)
        } catch {
            throw .notJSON(error)
        }
        guard document["format"]?.integer == 1 else { throw .manifest("format") }
        guard let version = document["version"]?.string else { throw .manifest("version") }
        guard let entries = document["roots"]?.array, !entries.isEmpty else { throw .manifest("roots") }
        self.version = version
        var roots: [Root] = []
        for entry in entries { roots.append(try Self.root(entry, file)) }
        self.roots = roots
        chains = (document["chains"]?.array ?? []).compactMap(\.string)
        guard let list = document["status_list"] else {
            statusList = .empty
            statusListTime = nil
            return
        }
        guard let name = list["file"]?.string, let text = list["fetched_at"]?.string,
            let time = InternetTime.milliseconds(of: text)
        else { throw .manifest("status_list") }
        guard let bytes = file(name) else { throw .missing(name) }
        do {
            statusList = try StatusList(parsing: bytes)
        } catch {
            throw .unusable(name)
        }
        statusListTime = Moment(milliseconds: time)
    }

    /// The bundle that the program carries.
    package static func builtIn() throws(ParseError) -> TrustBundle {
        guard let manifest = BuiltInTrust.text(ofFile: manifestName) else { throw .missing(manifestName) }
        return try TrustBundle(manifest: Array(manifest.utf8)) { name in
            BuiltInTrust.text(ofFile: name).map { Array($0.utf8) }
        }
    }

    private init(_ bundle: TrustBundle, statusList: StatusList, fetchedAt: Moment) {
        version = bundle.version
        roots = bundle.roots
        chains = bundle.chains
        self.statusList = statusList
        statusListTime = fetchedAt
    }

    /// This bundle with a newer status list.
    package func replacing(statusList: StatusList, fetchedAt: Moment) -> TrustBundle {
        TrustBundle(self, statusList: statusList, fetchedAt: fetchedAt)
    }

    /// The authorities that the bundle trusts.
    package var anchors: TrustAnchors {
        TrustAnchors(
            apple: roots.filter { $0.purpose == .apple }.map(\.anchor),
            android: roots.filter { $0.purpose == .android }.map(\.anchor)
        )
    }

    private static func root(_ entry: JSONValue, _ file: (String) -> [UInt8]?) throws(ParseError) -> Root {
        guard let name = entry["file"]?.string, let purpose = Purpose(rawValue: entry["for"]?.string ?? ""),
            let fingerprint = entry["sha256"]?.string
        else { throw .manifest("roots") }
        guard let bytes = file(name) else { throw .missing(name) }
        do {
            let anchors = try TrustAnchor.anchors(pem: String(decoding: bytes, as: UTF8.self))
            guard anchors.count == 1, Hex.encode(SHA256.hash(anchors[0].certificate.der).bytes) == fingerprint,
                anchors[0].certificate.isSigned(by: anchors[0].key)
            else { throw ParseError.unusable(name) }
            return Root(file: name, purpose: purpose, anchor: anchors[0])
        } catch {
            throw .unusable(name)
        }
    }
}

extension TrustBundle.ParseError: CustomStringConvertible {
    /// What to look at, for logs and the command line.
    package var description: String {
        switch self {
        case .notJSON(let error): "\(TrustBundle.manifestName) is no JSON: \(error)"
        case .manifest(let member): "\(TrustBundle.manifestName) has no usable \"\(member)\""
        case .missing(let file): "\(file) is not there"
        case .unusable(let file): "\(file) is not what \(TrustBundle.manifestName) says of it"
        }
    }
}
