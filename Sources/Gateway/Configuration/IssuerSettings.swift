// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials
package import Transport

/// An outside issuer of tokens that some organizations may use.
package struct IssuerSettings: Sendable {
    package var name: String
    package var issuer: String
    package var audiences: [String]
    package var keys: IssuerKeySource
    package var algorithms: [TokenAlgorithm]
    /// The only organizations whose apps may be used with its tokens.
    package var organizations: [OrganizationID]
    package var kind: IssuerKind
    /// The claim that holds the person's id.
    package var personClaim: String
    /// The claim that holds the App ID; nil: tokens of it name no app.
    package var appClaim: String?
    /// The claim that holds the trust of a session's sign-in; nil for other kinds.
    package var trustClaim: String?
    /// Ranges a key server may live in although they are private.
    package var privateNetworks: [AddressRange]
    /// PEM file of the authorities to trust for the key server; nil: the system's.
    package var keyAuthorities: String?
}

/// Where an issuer's keys come from.
package enum IssuerKeySource: Sendable, Equatable {
    case url(String)
    case file(path: String)
    case secret(ConfiguredSecret)
}
