// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// For how long one app takes proofs of a lab's authorities: timed, never for a production app,
/// never more than `development`.
package struct LabTrust: Sendable {
    /// The longest time that lab trust may be switched on for: a week.
    package static let longestHours = 168

    /// The lab's authorities.
    package let anchors: TrustAnchors
    /// When it ends.
    package let until: Moment

    /// Lab trust as it was kept.
    package init(anchors: TrustAnchors, until: Moment) {
        self.anchors = anchors
        self.until = until
    }

    /// The vendors' anchors, and the lab's beside them while this is in force for an app that is not production.
    package func anchors(beside vendor: TrustAnchors, at now: Moment, isProduction: Bool) -> TrustAnchors {
        isInForce(at: now, isProduction: isProduction) ? vendor.adding(lab: anchors) : vendor
    }

    /// Whether it counts: asked at every proof, because an app may be marked as production meanwhile.
    package func isInForce(at now: Moment, isProduction: Bool) -> Bool {
        !isProduction && now < until
    }
}
