// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials
package import Transport

/// Finds run tokens, which are opaque, by their keyed hashes (dialects.md E.2).
///
/// The one conformer is the store of dialect `vouch`; the pipeline asks it for every request that bears an `rt_…`.
@Reactor
package protocol RunTokenLookup: AnyObject {
    /// What is known of the token without asking anybody; nil: `facts` has to be asked.
    func known(token: [UInt8], bound: RunTokenBinding, now: Int64) -> RunTokenAnswer?
    /// What the token is good for when the values it is bound to are these.
    ///
    /// The facts are those of kind `run_token`, with the device as `OwnSource.device`, so that its watermark counts.
    func facts(of token: [UInt8], bound: RunTokenBinding, now: Int64) async -> RunTokenAnswer
}

/// What a request says of its device and build; a run token counts only with the values of its attest call (VCH-020).
package struct RunTokenBinding: Sendable, Equatable {
    /// `X-Device-Id`.
    package var device: String
    /// `X-App-Version`.
    package var version: String
    /// `X-App-Platform`.
    package var platform: String
}

/// What became of a look-up.
package enum RunTokenAnswer: Sendable {
    case valid(TokenFacts)
    /// Unknown, expired, revoked or bound otherwise: not told apart.
    case invalid
    /// The store is away.
    case unavailable
}
