// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store

/// The two kinds of keys at rest.
enum RestKey: String, CaseIterable {
    case seal, pepper

    var words: String {
        switch self {
        case .seal: "sealing key"
        case .pepper: "pepper"
        }
    }

    /// The ids that a node holds.
    func ids(of node: NodeKeys) -> [String] {
        switch self {
        case .seal: node.seals
        case .pepper: node.peppers
        }
    }

    /// The id in use.
    func current(_ document: KeyringDocument) -> String? {
        switch self {
        case .seal: document.seal
        case .pepper: document.pepper
        }
    }
}

/// How far the rotation of a key at rest came.
enum RestRotation {
    /// The key is in use on all nodes.
    case switched(id: String, sequence: Int)
    /// These nodes do not hold the key yet: nothing was changed for them.
    case waiting(id: String, place: String, nodes: [String], isNew: Bool)
}

extension KeyringKeeper {
    /// Takes up a key at rest that every live node holds and that was never in use; makes one where there is none.
    ///
    /// Keys at rest never go through Redis, so with several nodes it takes two steps: the key is added to the files of
    /// one node, the operator copies them to the others, and the second call finds it everywhere and switches.
    func rotate(_ kind: RestKey, by: String) async throws(RegistryError) -> RestRotation {
        readMaterial()
        var candidate = Self.candidate(kind.ids(of: held), kind, keyring)
        var isNew = false
        if candidate == nil {
            candidate = try add(kind)
            isNew = true
            readMaterial()
        }
        guard let id = candidate, kind.ids(of: held).contains(id) else {
            throw .rejected(code: "keys_unusable", message: "the new \(kind.words) could not be read back")
        }
        let nodes = try await registry.announce(held)
        let behind = nodes.filter { !kind.ids(of: $0).contains(id) }.map(\.node)
        guard behind.isEmpty else { return .waiting(id: id, place: place(of: kind), nodes: behind, isNew: isNew) }
        let former = kind.current(keyring)
        let change = try await registry.change(KeyringDocument.self, by: by) { document throws(RegistryError) in
            guard kind.current(document) == former, !document.retired.contains(id) else {
                throw .rejected(code: "contended", message: "somebody else rotates the \(kind.words)s at this moment")
            }
            switch kind {
            case .seal: document.seal = id
            case .pepper: document.pepper = id
            }
            if let former { document.retired.append(former) }
            return [HistoryEvent("\(kind.rawValue)_rotated", [("from", .optional(former)), ("to", .string(id))])]
        }
        guard let sequence = change.sequence else {
            throw .rejected(code: "contended", message: "somebody else rotates the \(kind.words)s at this moment")
        }
        await look()
        return .switched(id: id, sequence: sequence)
    }

    private static func candidate(_ ids: [String], _ kind: RestKey, _ document: KeyringDocument) -> String? {
        ids.first { $0 != kind.current(document) && !document.retired.contains($0) }
    }

    private func add(_ kind: RestKey) throws(RegistryError) -> String {
        let (configured, path) =
            switch kind {
            case .seal: (source.secrets.seal, source.paths.sealing)
            case .pepper: (source.secrets.pepper, source.paths.pepper)
            }
        guard configured == nil else {
            throw .rejected(
                code: "key_is_configured",
                message: "\(place(of: kind)) holds one \(kind.words); add the next as a second line of 64 hexadecimal"
                    + " digits on every node, restart the nodes one by one, then rotate again"
            )
        }
        do {
            return try KeyFiles.add(to: path)
        } catch {
            throw .rejected(code: "keys_unusable", message: error.message)
        }
    }

    private func place(of kind: RestKey) -> String {
        switch kind {
        case .seal: source.sealPlace
        case .pepper: source.pepperPlace
        }
    }

    /// How many hashes and sealed texts name each key at rest: what none names can be taken out of the files.
    ///
    /// What cannot be read may name any of them.
    func uses() async throws(RegistryError) -> RestKeyUses {
        var sealed: [String: Int] = [:]
        for key in try await registry.document(SigningDocument.self).document.keys {
            sealed[key.sealed.key, default: 0] += 1
        }
        var hashed: [String: Int] = [:]
        for token in try await registry.document(AdminTokensDocument.self).document.tokens {
            hashed[token.secret.pepper, default: 0] += 1
        }
        let apps = try await registry.apps()
        for app in apps.elements {
            let secrets =
                app.keys.map(\.secret) + [app.secret].compactMap { $0 } + app.debugTokens.map(\.secret)
                + (app.vouchKeys ?? []).map(\.secret)
            for secret in secrets { hashed[secret.pepper, default: 0] += 1 }
            for text in app.sealedTexts { sealed[text.key, default: 0] += 1 }
        }
        return RestKeyUses(sealed: sealed, hashed: hashed, problems: apps.problems)
    }
}

/// How many sealed texts and hashes name each key at rest, and what could not be counted.
struct RestKeyUses {
    let sealed: [String: Int]
    let hashed: [String: Int]
    let problems: [RegistryProblem]
}
