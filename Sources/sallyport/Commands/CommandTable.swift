// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Every verb, in the order of the overview; nothing registers itself.
enum CommandTable {
    static let all: [Command] =
        RunCommands.all + StatusCommands.all + OrganizationCommands.all + AppCommands.all + OriginCommands.all
        + DomainCommands.all + KeyCommands.all + NativeCommands.all + PolicyCommands.all + ApplyCommands.all
        + TokenCommands.all + SecretCommands.all + KeyringCommands.all + AdminTokenCommands.all + IssuerCommands.all
        + TrustCommands.all
        + LabCommands.all + LabTrustCommands.all + IdentityCommands.all + PlayKeyCommands.all
        + VouchCommands.all
        + DebugTokenCommands.all + DeviceCommands.all + SignInCommands.all
        + MCPCommands.all
}
