// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Store
import Telemetry

extension RedisEndpoint {
    /// Where the configured Redis is.
    static func configured(_ state: StateSettings, _ paths: StatePaths) throws(ProcessFault) -> RedisEndpoint {
        switch state.redis {
        case .embedded:
            return try RedisProcess.prepared(paths).endpoint
        case .server(let settings):
            let address: RedisEndpoint.Address
            switch settings.address {
            case .tcp(let host, let port): address = .tcp(host: host, port: port, isTLS: settings.usesTLS)
            case .unix(let path): address = .unix(path: path)
            }
            return RedisEndpoint(
                address: address,
                user: settings.user,
                password: settings.password.map { Secret(String(decoding: $0.bytes, as: UTF8.self)) },
                database: settings.database,
                authorities: try settings.authorities.map(authorities)
            )
        }
    }

    private static func authorities(in path: String) throws(ProcessFault) -> [UInt8] {
        switch Files.read(path, limit: PEMFile.limit) {
        case .success(let pem): return pem
        case .failure(let fault): throw ProcessFault("the authorities of Redis: cannot read \(path): \(fault.message)")
        }
    }
}
