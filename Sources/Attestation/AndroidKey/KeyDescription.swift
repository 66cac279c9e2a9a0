// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Encodings

/// Where a key or an attestation lives.
package enum SecurityLevel: UInt8, Sendable, Comparable {
    /// Anywhere: worth nothing.
    case software = 0
    /// The trusted execution environment.
    case trustedEnvironment = 1
    /// A chip of its own.
    case strongBox = 2

    package static func < (left: SecurityLevel, right: SecurityLevel) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// What the bootloader said about the system it started.
package enum VerifiedBootState: UInt8, Sendable {
    /// The vendor's.
    case verified = 0
    /// Signed with a key that the owner set.
    case selfSigned = 1
    /// Not checked.
    case unverified = 2
    /// Checked and wrong.
    case failed = 3
}

/// How the device booted, as its hardware knows it.
package struct RootOfTrust: Sendable, Equatable {
    /// Whether the bootloader is locked.
    package let isLocked: Bool
    /// What it found.
    package let bootState: VerifiedBootState
}

/// The application that asked for a key, as the system saw it.
package struct AttestedApplication: Sendable, Equatable {
    /// The packages of one user id; they share a signer.
    package let packages: [String]
    /// SHA-256 digests of the certificates that signed them.
    package let signers: [[UInt8]]
}

/// The attestation extension of an Android key, versions 1 to 500 and beyond.
///
/// Tolerant where real phones are odd (unordered tags, BOOLEAN 0x01, versions that differ), strict in its encoding.
package struct KeyDescription: Sendable {
    /// The version of this structure, shown and never judged; nil if it is no number that anyone would give.
    package let version: Int?
    /// Where the attestation was made.
    package let attestationLevel: SecurityLevel
    /// Where the key lives.
    package let keyLevel: SecurityLevel
    /// What the key was asked to be made for.
    package let challenge: [UInt8]
    /// The application, from the list that the system fills; nil if the list names none.
    package let application: AttestedApplication?
    /// The boot state, from the list that the hardware fills; one in the other list is worthless.
    package let rootOfTrust: RootOfTrust?

    /// 1.3.6.1.4.1.11129.2.1.17.
    package static let extensionIdentifier = OID(1, 3, 6, 1, 4, 1, 11_129, 2, 1, 17)
    static let rootOfTrustTag = 704
    static let applicationTag = 709
    /// More tags than any version defines.
    private static let maximumTags = 128
    /// More packages than share a user id on any phone.
    private static let maximumPackages = 256

    /// The description that the value of the extension is.
    package init(parsing bytes: [UInt8]) throws(DERError) {
        var fields = try DERCursor.only(.sequence, in: bytes).cursor
        version = try Self.version(try fields.read(.integer))
        attestationLevel = try Self.level(try fields.read(.enumerated))
        _ = try fields.read(.integer).integerBytes()
        keyLevel = try Self.level(try fields.read(.enumerated))
        challenge = try fields.read(.octetString).bytes
        _ = try fields.read(.octetString)
        let system = try Self.tags(of: try fields.read(.sequence))
        let hardware = try Self.tags(of: try fields.read(.sequence))
        try fields.finish()
        application = try system[Self.applicationTag].map(Self.application)
        rootOfTrust = try hardware[Self.rootOfTrustTag].map(Self.rootOfTrust)
    }

    private static func version(_ element: DERElement) throws(DERError) -> Int? {
        try element.integerBytes().count <= 8 ? try element.integer() : nil
    }

    private static func level(_ element: DERElement) throws(DERError) -> SecurityLevel {
        guard let value = UInt8(exactly: try element.integer()), let level = SecurityLevel(rawValue: value) else {
            throw DERError.illegalValue
        }
        return level
    }

    /// The elements of an authorization list by tag; contents stay unread, so nesting costs nothing.
    private static func tags(of list: DERElement) throws(DERError) -> [Int: DERElement] {
        var tags: [Int: DERElement] = [:]
        var cursor = list.cursor
        while !cursor.isAtEnd {
            let element = try cursor.next()
            guard element.tag == .explicit(element.tag.number), tags.count < maximumTags,
                tags.updateValue(element, forKey: element.tag.number) == nil
            else { throw DERError.illegalTag }
        }
        return tags
    }

    private static func rootOfTrust(_ wrapper: DERElement) throws(DERError) -> RootOfTrust {
        var wrapped = wrapper.cursor
        var fields = try wrapped.read(.sequence).cursor
        try wrapped.finish()
        _ = try fields.read(.octetString)
        let isLocked = try fields.read(.boolean).booleanTolerant()
        let state = try fields.read(.enumerated).integer()
        // The hash of the verified image came with version 3.
        _ = try fields.readIf(.octetString)
        try fields.finish()
        guard let value = UInt8(exactly: state), let bootState = VerifiedBootState(rawValue: value) else {
            throw DERError.illegalValue
        }
        return RootOfTrust(isLocked: isLocked, bootState: bootState)
    }

    /// The tag's octets are themselves the DER of the application id.
    private static func application(_ wrapper: DERElement) throws(DERError) -> AttestedApplication {
        var wrapped = wrapper.cursor
        let octets = try wrapped.read(.octetString)
        try wrapped.finish()
        var fields = try DERCursor.only(.sequence, in: octets.bytes).cursor
        var packageSet = try fields.read(.set).cursor
        var signerSet = try fields.read(.set).cursor
        try fields.finish()
        var packages: [String] = []
        while !packageSet.isAtEnd {
            var entry = try packageSet.read(.sequence).cursor
            let name = try entry.read(.octetString)
            _ = try entry.read(.integer).integerBytes()
            try entry.finish()
            guard packages.count < maximumPackages, let text = String(validating: name.bytes, as: UTF8.self) else {
                throw DERError.illegalValue
            }
            packages.append(text)
        }
        var signers: [[UInt8]] = []
        while !signerSet.isAtEnd {
            guard signers.count < maximumPackages else { throw DERError.illegalValue }
            signers.append(try signerSet.read(.octetString).bytes)
        }
        return AttestedApplication(packages: packages, signers: signers)
    }
}
