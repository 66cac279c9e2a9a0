// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials
import Encodings
package import Transport

/// How an app signed in, as its statistics count it (APP-107).
package enum SignInMethod: String, Sendable, CaseIterable {
    case secret, ios, android, debug, web, failed
}

/// The sign-ins of one day, in UTC (APP-112).
package struct SignInDay: Sendable, Equatable {
    /// `YYYY-MM-DD`.
    package let date: String
    package let counts: [SignInMethod: Int]
}

/// One refused sign-in (APP-108): no token, no proof, nothing of the device.
package struct SignInFault: Sendable, Equatable {
    /// Milliseconds since 1970.
    package let at: Int64
    package let platform: String
    package let reason: String
}

/// Sign-ins of the last 30 days by method, and the latest failures, for each app.
///
/// Isolated to the Reactor. Counted beside the sign-in, which does not wait: a count that is
/// lost with Redis is no loss.
@Reactor
package final class SignInHistory {
    private let connection: RedisConnection

    /// How far back the statistics look.
    package nonisolated static let days = 30
    /// How many failures are kept.
    package nonisolated static let mostFaults = 20

    package init(connection: RedisConnection) {
        self.connection = connection
    }

    /// Counts one sign-in of `app`.
    package func count(_ method: SignInMethod, of app: RecordID, at now: Int64) {
        run(SignInScripts.count, [Self.day(app, now)], [.text(method.rawValue), .number((Self.days + 1) * 86_400)])
    }

    /// Counts one refused sign-in of `app` and keeps why.
    package func fail(_ platform: String, _ reason: String, of app: RecordID, at now: Int64) {
        count(.failed, of: app, at: now)
        let row = "\(now) \(platform) \(reason)"
        run(SignInScripts.keepFault, ["{\(app.rawValue)}:sf"], [.text(row), .number(Self.mostFaults)])
    }

    /// The days with any sign-in among the latest `count`, newest first.
    package func signIns(
        of app: RecordID,
        now: Int64,
        latest count: Int = SignInHistory.days
    ) async throws(StoreError) -> [SignInDay] {
        var days: [SignInDay] = []
        for back in 0..<Int64(min(max(count, 0), Self.days)) {
            let moment = now - back * 86_400_000
            let reply = try await connection.call(["HGETALL", .text(Self.day(app, moment))])
            guard let elements = reply.elements else { throw .malformed("the sign-ins of a day") }
            var counts: [SignInMethod: Int] = [:]
            for index in stride(from: 0, to: elements.count - 1, by: 2) {
                guard let method = elements[index].text.flatMap(SignInMethod.init(rawValue:)) else { continue }
                counts[method] = Int(elements[index + 1].integer ?? 0)
            }
            if !counts.isEmpty { days.append(SignInDay(date: Self.date(moment), counts: counts)) }
        }
        return days
    }

    /// The latest failures, newest first.
    package func faults(of app: RecordID) async throws(StoreError) -> [SignInFault] {
        let reply = try await connection.call([
            "LRANGE", .text("{\(app.rawValue)}:sf"), 0, .number(Self.mostFaults - 1),
        ])
        guard let rows = reply.elements else { throw .malformed("the failures of an app") }
        return rows.compactMap { row in
            let parts = row.text?.split(separator: " ") ?? []
            guard parts.count == 3, let at = Int64(parts[0]) else { return nil }
            return SignInFault(at: at, platform: String(parts[1]), reason: String(parts[2]))
        }
    }

    private func run(_ script: RedisScript, _ keys: [String], _ arguments: [RedisArgument]) {
        let connection = connection
        Task { @Reactor in
            do throws(StoreError) {
                _ = try await connection.evaluate(script, keys: keys.map { .text($0) }, arguments: arguments)
            } catch {
                // A count that is lost is no loss.
            }
        }
    }

    private nonisolated static func date(_ now: Int64) -> String {
        String(InternetTime.text(milliseconds: now).prefix(10))
    }

    private nonisolated static func day(_ app: RecordID, _ now: Int64) -> String {
        "{\(app.rawValue)}:si:\(date(now))"
    }
}

extension RegistryStore {
    /// Sign-ins over the registry's own connection, for those who only look.
    package var signInHistory: SignInHistory { SignInHistory(connection: connection) }

    /// Installs over the registry's own connection, for administrators.
    package var deviceKeys: DeviceKeyStore { DeviceKeyStore(connection: connection) }
}

/// The scripts of `SignInHistory`: each leaves nothing behind that no other call would end.
enum SignInScripts {
    /// Counts a sign-in on its day: ARGV method, the seconds that the day is kept.
    static let count = RedisScript(
        """
        redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
        return redis.call('EXPIRE', KEYS[1], ARGV[2])
        """
    )

    /// Keeps a failure among the latest: ARGV row, how many.
    static let keepFault = RedisScript(
        """
        redis.call('LPUSH', KEYS[1], ARGV[1])
        return redis.call('LTRIM', KEYS[1], 0, ARGV[2] - 1)
        """
    )
}
