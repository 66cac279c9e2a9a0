// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Attestation
package import Crypto
import Encodings

/// A lab's directory: its authorities, and the App Attest keys that it has made.
package struct LabDirectory: Sendable {
    /// Where it is.
    package let path: String

    /// Why a lab's directory could not be used.
    package enum Failure: Error, Equatable, CustomStringConvertible {
        /// A file would not be read or written.
        case file(FileFailure)
        /// The files are no lab, or a proof could not be made.
        case lab(LabError)
        /// A lab is there already; its proofs would stop counting if it were replaced.
        case exists(String)

        package var description: String {
            switch self {
            case .file(let failure): "\(failure)"
            case .lab(.file(let name)): "\(name) is missing or damaged"
            case .lab(.option(let name)): "no proof can be made with this \(name)"
            case .lab(.crypto(let error)): "the cryptographic library refused: \(error)"
            case .exists(let path): "\(path) holds a lab already"
            }
        }
    }

    /// The lab at `path`.
    package init(path: String) {
        self.path = path
    }

    /// Makes fresh authorities in a new directory.
    package func create(at now: Moment) throws(Failure) {
        guard !Files.exists("\(path)/apple-root.pem") else { throw .exists(path) }
        do {
            try SmallFile.makeDirectory(path)
            try SmallFile.makeDirectory("\(path)/ios-keys")
            for file in try LabAuthorities.make(at: now).files() {
                try SmallFile.write(Array(file.text.utf8), to: "\(path)/\(file.name)", isPublic: !file.isSecret)
            }
        } catch let failure as FileFailure {
            throw .file(failure)
        } catch let error as LabError {
            throw .lab(error)
        } catch {
            throw .lab(.option("directory"))
        }
    }

    /// The authorities.
    package func authorities() throws(Failure) -> LabAuthorities {
        do {
            return try LabAuthorities { name in text(name) }
        } catch {
            throw .lab(error)
        }
    }

    /// Keeps the private half of an attested key.
    package func keep(_ key: PrivateKey, keyID: String) throws(Failure) {
        do {
            try SmallFile.write(Array(try key.pem().utf8), to: try file(ofKey: keyID))
        } catch let failure as FileFailure {
            throw .file(failure)
        } catch {
            throw .lab(.option("key id"))
        }
    }

    /// The private half of the key `keyID`.
    package func key(_ keyID: String) throws(Failure) -> PrivateKey {
        do {
            return try PrivateKey(pem: String(decoding: try SmallFile.read(try file(ofKey: keyID)), as: UTF8.self))
        } catch let failure as FileFailure {
            throw .file(failure)
        } catch {
            throw .lab(.option("key id"))
        }
    }

    private func file(ofKey keyID: String) throws(LabError) -> String {
        do {
            let bytes = try Base64.decode(keyID, alphabet: .either, padding: .optional, limit: 64)
            return "\(path)/ios-keys/\(Hex.encode(bytes)).key"
        } catch {
            throw .option("key id")
        }
    }

    private func text(_ name: String) -> String? {
        do {
            return String(decoding: try SmallFile.read("\(path)/\(name)"), as: UTF8.self)
        } catch {
            return nil
        }
    }
}
