// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Store
import Telemetry

extension KeyFollower {
    func readMaterial() {
        do {
            material = try source.load()
        } catch {
            log.error("the keys at rest cannot be read", ["reason": error.message])
        }
        do {
            try peppers.replace(material.peppers(current: keyring.pepper))
        } catch {
            log.error("the peppers cannot be used", ["reason": ProcessFault(error).message])
        }
    }

    func openOwn() {
        let former = problem
        do {
            own = try opened()
            problem = nil
        } catch {
            // A ring that is held stays in use: its keys are no worse for a later one that does not open.
            problem = error.sentence
            if former != problem { log.error("the signing keys cannot be opened", ["reason": error.sentence]) }
        }
        ownChanged(own)
        armTimer()
    }

    private func opened() throws(SigningKeyProblem) -> SigningKeyRing? {
        guard !signing.keys.isEmpty else { return nil }
        do throws(SigningKeyProblem) {
            return try ring()
        } catch .sealing(.unknownKey) {
            // The file may have been given the key since we read it.
            readMaterial()
            return try ring()
        }
    }

    private func ring() throws(SigningKeyProblem) -> SigningKeyRing {
        let sealing: SealingRing
        do {
            sealing = try material.sealingRing(current: keyring.seal)
        } catch {
            throw .sealing(error)
        }
        return try SigningKeyRing(signing.keys, sealing: sealing)
    }
}
