// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation

/// `trust:`.
enum TrustSection {
    static let directory = Setting(
        "directory",
        ValueKind.path,
        .optional,
        "A trust bundle: `bundle.json` and the roots that it names. Left out: the roots that the program carries."
    )
    static let statusList = Setting(
        "status_list",
        ValueKind.webURL,
        .optional,
        "Where Google's list of revoked Android certificates is fetched from, "
            + "`https://android.googleapis.com/attestation/status`. Left out: the gateway asks nobody."
    )
    static let interval = Setting(
        "interval",
        .duration(.seconds(900)...(.seconds(7 * 86_400))),
        .standard(.seconds(86_400)),
        "Longest time between two fetches of that list; its caching headers may ask for less, never below 15 minutes."
    )
    static let playIntegrity = Setting(
        "play_integrity",
        ValueKind.webURL,
        .standard(WebURL.playIntegrity),
        "Google's API that opens Play Integrity tokens; asked only with a service account."
    )
    static let playDeadline = Setting(
        "play_deadline",
        .duration(.milliseconds(100)...(.seconds(30))),
        .standard(.seconds(3)),
        "Longest wait of a sign-in for that API; then the device counts as `platform_unavailable`."
    )
    static let authorities = Setting(
        "ca",
        ValueKind.authorities,
        .optional,
        "PEM file of the authorities to trust for these addresses. Left out: the system's."
    )

    static let schema = SectionSchema(
        "trust",
        [
            directory.row, statusList.row, interval.row, playIntegrity.row, playDeadline.row, authorities.row,
        ]
    )

    static let kind = ValueKind<TrustSettings>.section(schema) { section in
        let directory = section.value(directory)
        let statusList = section.value(statusList)
        let interval = section.value(interval)
        let playIntegrity = section.value(playIntegrity)
        let playDeadline = section.value(playDeadline)
        let authorities = section.value(authorities)
        if let directory, case .failure(let fault) = TrustDirectory(path: directory).reading {
            section.report("the trust bundle does not read: \(fault)", at: "directory")
        }
        let account = account(section)
        guard let environments = environments(section), let interval, let playIntegrity, let playDeadline else {
            return nil
        }
        return TrustSettings(
            directory: directory,
            statusList: statusList,
            interval: interval,
            playIntegrity: playIntegrity,
            playDeadline: playDeadline,
            authorities: authorities,
            playAccount: account,
            environments: environments
        )
    }

    /// Contents or a path (VCH-014); unset is no problem, what cannot be used is (VCH-015).
    private static func account(_ section: SectionReader) -> ServiceAccount? {
        guard let (name, value) = variable("PLAY_INTEGRITY_CREDENTIALS", section) else { return nil }
        var text = Array(value.utf8)
        if !ServiceAccount.isContents(value) {
            switch Files.read(section.context.absolute(value), limit: 64 << 10) {
            case .success(let bytes): text = bytes
            case .failure(let fault):
                let sentence = "\(name): cannot read the file: \(fault.message)"
                section.report(sentence, isOfThisMachine: fault.isOfThisUser)
                return nil
            }
        }
        do {
            return try ServiceAccount(parsing: text)
        } catch {
            switch error {
            case .notJSON: section.report("\(name) is no service account: not JSON")
            case .member(let member):
                section.report("\(name) is no service account: \"\(member)\" is missing or wrong")
            }
            return nil
        }
    }

    private static func environments(_ section: SectionReader) -> Set<AppAttestEnvironment>? {
        let variable = variable("APP_ATTEST_ENV", section)
        let environments = AppAttestEnvironmentSetting.environments(variable?.value)
        if environments == nil { section.report("\(variable?.name ?? "") is production or development") }
        return environments
    }

    /// A variable by its own name or, before it, by ours.
    private static func variable(_ name: String, _ section: SectionReader) -> (name: String, value: String)? {
        for name in ["SALLYPORT_\(name)", "VOUCH_\(name)"] {
            if let value = section.context.environment[name], !value.isEmpty { return (name, value) }
        }
        return nil
    }
}

extension ValueKind where Value == WebURL {
    /// An address that the gateway itself asks.
    static let webURL = ValueKind(
        "https URL",
        "an address such as https://example.com/list",
        parse: { WebURL($0) },
        write: { "\($0)" }
    )
}

extension WebURL {
    /// Google's.
    static let playIntegrity = WebURL(host: "playintegrity.googleapis.com")
}
