// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings

extension Configuration {
    /// No configuration is larger.
    private static let limit = YAMLDocument.maximumBytes

    /// Reads, resolves and checks a file: the one door that `run`, `check` and reload use.
    ///
    /// `check` looks at certificates and their keys, and `surroundings` says what else of the machine is looked at.
    package static func load(
        path: String,
        environment: [String: String],
        check: @escaping CertificateCheck = CertificateFiles.check,
        surroundings: Surroundings
    ) throws(ConfigurationProblems) -> Configuration {
        try Configuration(
            parsing: text(of: path),
            path: path,
            environment: environment,
            surroundings: surroundings,
            check: check
        )
    }

    /// Reads a file that need not be for this machine or this user, and looks at everything that a start would find.
    ///
    /// What is wrong with it everywhere is thrown, what is wrong only here beside it; alone that is returned, with a
    /// configuration that nothing may be started with: values stand in for what cannot be read.
    package static func check(
        path: String,
        environment: [String: String]
    ) throws(ConfigurationProblems) -> (configuration: Configuration, warnings: [ConfigurationProblem]) {
        let bytes = try text(of: path)
        func look() -> (configuration: Configuration?, problems: [ConfigurationProblem]) {
            let context = ReadingContext(
                file: path,
                environment: environment,
                checkCertificate: CertificateFiles.check,
                surroundings: .starting
            )
            return (Configuration(parsing: bytes, context), context.sorted)
        }
        var (configuration, problems) = look()
        // Workers read as the user that they drop to, and so does a reload.
        if let name = configuration?.user,
            case .success(let account?) = Result(catching: { try Account.toDropTo(name) })
        {
            let lent = account.lending(look)
            // Who may not read a file does not see what is wrong with it.
            let hidden = problems.filter { !$0.isOfThisMachine && !lent.problems.contains($0) }
            (configuration, problems) = (lent.configuration, lent.problems + hidden)
        }
        guard let configuration, problems.allSatisfy(\.isOfThisMachine) else { throw ConfigurationProblems(problems) }
        return (configuration, problems)
    }

    private static func text(of path: String) throws(ConfigurationProblems) -> [UInt8] {
        switch Files.read(path, limit: limit) {
        case .success(let bytes): return bytes
        case .failure(let fault):
            let problem = ConfigurationProblem(
                file: path,
                line: 0,
                column: 0,
                path: "",
                found: nil,
                expectation: "cannot read the file: \(fault.message)",
                hint: nil
            )
            throw ConfigurationProblems([problem])
        }
    }

    /// Resolves the text of a file; relative paths start at the folder of `path`.
    package init(
        parsing bytes: [UInt8],
        path: String,
        environment: [String: String],
        surroundings: Surroundings = .unseen,
        check: @escaping CertificateCheck
    ) throws(ConfigurationProblems) {
        let context = ReadingContext(
            file: path,
            environment: environment,
            checkCertificate: check,
            surroundings: surroundings
        )
        guard let configuration = Configuration(parsing: bytes, context), context.problems.isEmpty else {
            throw ConfigurationProblems(context.sorted)
        }
        self = configuration
    }

    private init?(parsing bytes: [UInt8], _ context: ReadingContext) {
        guard let root = context.root(parsing: bytes),
            let section = SectionReader(ValueReader(node: root, path: "", context: context), RootSection.schema)
        else { return nil }
        self.init(resolving: section)
        text = bytes
    }
}

extension ReadingContext {
    /// The tree of a text; its own problems are reported.
    func root(parsing bytes: [UInt8]) -> YAMLNode? {
        let document = YAMLDocument(parsing: bytes)
        for problem in document.problems { report(problem.sentence, at: problem.position, path: "") }
        if document.root == nil, problems.isEmpty {
            report("the file is empty", at: YAMLPosition(line: 1, column: 1), path: "")
        }
        return document.root
    }
}

extension Configuration {
    /// The door from what is written to what is meant; nil when a problem was reported.
    fileprivate init?(resolving section: SectionReader) {
        section.context.upstreamNames = section.keys(of: RootSection.upstreams.name)
        // Every section is read before any is missed, so that all problems are found at once.
        let version = section.value(RootSection.version)
        let workers = section.value(RootSection.workers)
        let listeners = section.value(RootSection.listeners)
        section.context.listening = listeners?.map(\.value.address) ?? []
        let admin = section.value(RootSection.admin)
        let log = section.value(RootSection.log)
        let state = section.value(RootSection.state)
        let secrets = section.value(RootSection.secrets)
        let trust = section.value(RootSection.trust)
        let clientAddress = section.value(RootSection.clientAddress)
        let issuers = section.value(RootSection.issuers)
        let tokens = section.value(RootSection.tokens)
        let upstreams = section.value(RootSection.upstreams)
        let routes = section.value(RootSection.routes)
        let http = section.value(RootSection.http)
        let timeouts = section.value(RootSection.timeouts)
        let connections = section.value(RootSection.connections)
        let http2 = section.value(RootSection.http2)
        let memory = section.value(RootSection.memory)
        let documentation = section.value(RootSection.documentation)
        user = section.value(RootSection.user)
        metrics = section.value(RootSection.metrics)
        if section.context.surroundings == .starting { section.lookAtPlaces(user: user, admin, state) }
        CrossChecks(section.context, listeners, issuers, tokens, routes, metrics, admin?.address).run()
        guard let workers, let listeners, let admin, let log, let state, let secrets, let trust, let clientAddress,
            let issuers, let tokens, let upstreams, let routes, let http, let timeouts, let connections, let http2,
            let memory,
            let documentation,
            version != nil
        else { return nil }
        path = section.context.file
        self.workers = workers
        self.listeners = listeners.map(\.value)
        self.admin = AdminSettings(
            address: admin.address?.value ?? .unix(path: "\(state.directory)/admin.sock"),
            tls: admin.tls
        )
        self.log = log
        self.state = state
        self.secrets = secrets
        self.trust = trust
        self.clientAddress = clientAddress
        self.issuers = issuers.map(\.value)
        self.tokens = tokens
        self.upstreams = upstreams.map { upstream in
            var settings = upstream.value
            settings.name = upstream.name
            return settings
        }
        self.routes = routes.compactMap { $0.resolved(among: upstreams, body: http.body) }
        self.http = http
        self.timeouts = timeouts
        self.connections = connections
        self.http2 = http2
        self.memory = memory
        self.documentation = documentation.hasSuffix("/") ? String(documentation.dropLast()) : documentation
    }
}

extension SectionReader {
    /// Notes what keeps a start from its user, its state directory or its admin socket.
    fileprivate func lookAtPlaces(user: String?, _ admin: AdminSection.File?, _ state: StateSettings?) {
        if let user, let problem = Places.accountProblem(user) {
            report(problem, at: RootSection.user.name, found: user, isOfThisMachine: true)
        }
        guard let state, let address = admin?.address, case .unix(let path) = address.value,
            let problem = Places.socketProblem(path, state: state.directory)
        else { return }
        context.report(
            problem,
            at: address.position,
            path: address.path,
            found: AddressText.write(address.value),
            isOfThisMachine: true
        )
    }
}

extension RouteFile {
    /// The route with its references followed; nil when its upstream has a problem of its own.
    fileprivate func resolved(among upstreams: [Named<UpstreamSettings>], body standard: ByteCount) -> RouteSettings? {
        guard let index = upstreams.firstIndex(where: { $0.name == upstream }) else { return nil }
        var route = settings
        route.upstream = index
        route.timeouts = timeouts.over(upstreams[index].value.timeouts)
        route.body = body ?? standard
        return route
    }
}
