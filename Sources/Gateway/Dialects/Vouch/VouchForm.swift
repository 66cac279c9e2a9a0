// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import HTTP

/// The body of `attest` (B.2): who asks, and the proof or why there is none.
struct VouchForm: Sendable {
    let nonce: String
    let device: String
    let version: String
    let platform: VouchPlatform
    /// nil: none was sent.
    let proof: Proof?
    /// Why no proof can be made; nil: not said.
    let unavailable: VouchReason?
    let signals: [String]

    /// Reads a body; members that are none of these are not looked at, so no raw device data is taken (VCH-006).
    init(_ form: FormBody) throws(VouchFault) {
        nonce = try form.required("nonce")
        device = try form.deviceID("device_id")
        version = try form.required("app_version")
        guard Self.isVersion(version) else {
            throw VouchFault("The field app_version is 1 to 64 printable characters without spaces around them.")
        }
        guard let platform = VouchPlatform(rawValue: try form.required("platform")) else {
            throw VouchFault("The field platform is ios or android.")
        }
        self.platform = platform
        signals = try Self.signals(form)
        proof = try Self.proof(form, platform)
        unavailable = try Self.unavailable(form, platform)
        if proof != nil, unavailable != nil {
            throw VouchFault("The body has a proof and the field unavailable; send one of them.")
        }
    }

    /// Attestation and assertion together are an attestation, as in dialect C.
    private static func proof(_ form: FormBody, _ platform: VouchPlatform) throws(VouchFault) -> Proof? {
        let token = try form.optional("token")
        let attestation = try form.optional("attestation")
        let assertion = try form.optional("assertion")
        switch platform {
        case .android:
            if attestation != nil || assertion != nil {
                throw VouchFault("An android device sends the field token.")
            }
            return token.map(Proof.playToken)
        case .ios:
            if token != nil { throw VouchFault("An ios device sends the field attestation or assertion.") }
            if attestation == nil, assertion == nil { return nil }
            let keyID = try form.required("key_id")
            if let attestation { return .appleAttestation(keyID: keyID, object: attestation) }
            return .appleAssertion(keyID: keyID, object: assertion ?? "")
        }
    }

    private static func unavailable(
        _ form: FormBody,
        _ platform: VouchPlatform
    ) throws(VouchFault) -> VouchReason? {
        guard let word = try form.optional("unavailable") else { return nil }
        let known = VouchReason.unavailable[platform] ?? ""
        guard word == known, let reason = VouchReason(code: word) else {
            throw VouchFault("The field unavailable of an \(platform.rawValue) device is \(known).")
        }
        return reason
    }

    private static func signals(_ form: FormBody) throws(VouchFault) -> [String] {
        guard let value = form["signals"], value != .null else { return [] }
        guard let words = value.array?.map(\.string) else { throw VouchFault("The field signals is a list of texts.") }
        var signals: [String] = []
        for word in words {
            guard let word, VouchReason.signals.contains(word) else {
                throw VouchFault("The field signals takes only \(VouchReason.signals.joined(separator: ", ")).")
            }
            if !signals.contains(word) { signals.append(word) }
        }
        return signals
    }

    private static func isVersion(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { 0x20..<0x7F ~= $0 } && text.first != " "
            && text.last != " "
    }
}

/// A body that is not the form, in one sentence for the developer.
struct VouchFault: Error, Equatable {
    let sentence: String

    init(_ sentence: String) {
        self.sentence = sentence
    }
}

extension FormBody {
    func required(_ name: String) throws(VouchFault) -> String {
        guard let text = try optional(name) else { throw VouchFault("The body is missing a field: \(name).") }
        return text
    }

    func optional(_ name: String) throws(VouchFault) -> String? {
        do {
            return try optionalText(name)
        } catch {
            throw VouchFault("The field \(name) is a text.")
        }
    }

    /// A device's name for itself: what can stand in a path, so that it can be revoked.
    func deviceID(_ name: String) throws(VouchFault) -> String {
        let id = try required(name)
        guard VouchDevice.isID(id) else {
            throw VouchFault("The field \(name) is 1 to 128 letters, digits, -, ., _ or ~.")
        }
        return id
    }
}

enum VouchDevice {
    static func isID(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count) && text.utf8.allSatisfy(\.isUnreserved)
    }
}
