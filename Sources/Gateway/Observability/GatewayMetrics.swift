// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Telemetry

/// Every metric there is: to add one, add a declaration here and its name to `all`.
package enum GatewayMetrics {
    package static let requests = Metric.counter(
        "sallyport_http_requests_total",
        "Requests by route, outcome and class of status code."
    )
    package static let requestDuration = Metric.histogram(
        "sallyport_http_request_duration_seconds",
        "Time from a request's first byte to its answer's last, by route.",
        bounds: Metric.requestSeconds
    )
    package static let upstreamDuration = Metric.histogram(
        "sallyport_upstream_request_duration_seconds",
        "Time from the first byte sent to an upstream to the head of its answer, by route.",
        bounds: Metric.requestSeconds
    )
    package static let inFlight = Metric.gauge("sallyport_http_requests_in_flight", "Requests being served.")
    package static let receivedBytes = Metric.counter("sallyport_received_bytes_total", "Bytes read from clients.")
    package static let sentBytes = Metric.counter("sallyport_sent_bytes_total", "Bytes written to clients.")
    package static let appRequests = Metric.counter(
        "sallyport_app_requests_total",
        "Requests by organization, app and outcome; apps beyond the label limit are counted as _other."
    )
    package static let decisions = Metric.counter(
        "sallyport_decisions_total",
        "Judgements by outcome, reason and mode (enforce or shadow)."
    )
    package static let rateLimit = Metric.counter(
        "sallyport_ratelimit_decisions_total",
        "Budgets asked for, by result (admitted, limited, shadow, unavailable) and source (redis, estimate)."
    )
    package static let originRefusals = Metric.counter(
        "sallyport_origin_refusals_total",
        "Requests refused because their Origin is not listed, by app."
    )
    package static let loopTurns = Metric.histogram(
        "sallyport_loop_turn_seconds",
        "Time of a turn of a worker's loop; while one lasts the worker does nothing else.",
        bounds: Metric.turnSeconds
    )
    package static let playQuestions = Metric.counter(
        "sallyport_play_integrity_questions_total",
        "Play Integrity tokens that Google was asked to open, by outcome (answered, unavailable)."
    )
    package static let openConnections = Metric.gauge("sallyport_open_connections", "Client connections open.")
    package static let connections = Metric.counter("sallyport_connections_total", "Client connections accepted.")
    package static let acceptPauses = Metric.counter(
        "sallyport_accept_pauses_total",
        "Times that accepting stopped for a tenth of a second: no descriptors or memory left."
    )
    package static let tlsHandshakes = Metric.counter(
        "sallyport_tls_handshakes_total",
        "TLS handshakes by result (full, resumed, failed)."
    )
    package static let parseErrors = Metric.counter(
        "sallyport_http_parse_errors_total",
        "Malformed requests refused, by status."
    )
    package static let upstreamConnections = Metric.gauge(
        "sallyport_upstream_connections",
        "Connections to upstreams, by upstream and protocol (http/1.1, h2)."
    )
    package static let upstreamConnectionsTotal = Metric.counter(
        "sallyport_upstream_connections_total",
        "Connections to upstreams that were begun, by upstream and protocol."
    )
    package static let upstreamStreams = Metric.gauge(
        "sallyport_upstream_streams",
        "Requests under way on HTTP/2 connections to upstreams, by upstream."
    )
    package static let http2Streams = Metric.gauge(
        "sallyport_http2_streams",
        "Streams of HTTP/2 clients that are open."
    )
    package static let http2Resets = Metric.counter(
        "sallyport_http2_resets_total",
        "Streams of HTTP/2 clients that were reset by either side, by cause."
    )
    package static let protocolRequests = Metric.counter(
        "sallyport_http_protocol_requests_total",
        "Requests by protocol (HTTP/1.0, HTTP/1.1, HTTP/2)."
    )
    package static let upstreamIdle = Metric.gauge(
        "sallyport_upstream_connections_idle",
        "Connections to an upstream that are kept for the next request."
    )
    package static let upstreamFailures = Metric.counter(
        "sallyport_upstream_failures_total",
        "Connect failures, missing and late answers, and invalid ones, of an upstream's endpoints."
    )
    package static let upstreamEjections = Metric.counter(
        "sallyport_upstream_ejections_total",
        "Endpoints of an upstream left out for a while after failures in a row."
    )
    package static let openWebSockets = Metric.gauge("sallyport_websockets_open", "WebSockets being relayed.")
    package static let redisDuration = Metric.histogram(
        "sallyport_redis_command_duration_seconds",
        "Time from sending a command to Redis to its answer, in whole turns of the loop.",
        bounds: Metric.requestSeconds
    )
    package static let upstreamRetries = Metric.counter("sallyport_upstream_retries_total", "Requests sent twice.")
    package static let redisUp = Metric.gauge("sallyport_redis_up", "Processes whose Redis connection is up.")
    package static let registryCache = Metric.counter(
        "sallyport_registry_cache_total",
        "Look-ups of apps by result (hit, miss, unknown, broken, unavailable)."
    )
    package static let signInAnswers = Metric.counter(
        "sallyport_sign_in_answers_total",
        "Successful answers of sign-in paths, by result: spliced, or untouched because they could not be read."
    )
    package static let logDropped = Metric.counter(
        "sallyport_access_log_dropped_total",
        "Access-log lines dropped because nobody read them."
    )
    package static let configSuccessful = Metric.gauge(
        "sallyport_config_last_reload_successful",
        "1 when the last reload was taken, 0 when the old set was kept."
    )
    package static let configTimestamp = Metric.gauge(
        "sallyport_config_last_reload_success_timestamp_seconds",
        "When the present configuration was taken."
    )
    package static let certificateNotAfter = Metric.gauge(
        "sallyport_tls_cert_not_after_timestamp_seconds",
        "When a certificate ends, by file."
    )
    package static let trustRootNotAfter = Metric.gauge(
        "sallyport_trust_root_not_after_timestamp_seconds",
        "When a root of the trust bundle ends, by file."
    )
    package static let statusListTimestamp = Metric.gauge(
        "sallyport_trust_status_list_timestamp_seconds",
        "When the status list in use was right; its age is the time since. 0: there is none."
    )
    package static let statusListEntries = Metric.gauge(
        "sallyport_trust_status_list_entries",
        "Serial numbers on the status list in use."
    )
    package static let statusListFetches = Metric.counter(
        "sallyport_trust_status_list_fetches_total",
        "Fetches of the status list, by result (good, failed)."
    )
    package static let restarts = Metric.counter("sallyport_process_restarts_total", "Children started again, by role.")
    package static let hangs = Metric.counter(
        "sallyport_process_hangs_total",
        "Children that were killed because they gave no sign of life any more, by role."
    )
    package static let childrenUnable = Metric.gauge(
        "sallyport_processes_unable_to_start",
        "Children that cannot start for a reason that they have logged; others do their work."
    )
    package static let registryLost = Metric.gauge(
        "sallyport_registry_lost",
        "1 while Redis is empty or holds another registry, or one without a name, than the one this node belongs to."
    )
    package static let registryChangesLost = Metric.counter(
        "sallyport_registry_changes_lost_total",
        "Changes that Redis had acknowledged and lost when it went back in time."
    )
    package static let workersServing = Metric.gauge("sallyport_workers_serving", "Workers that accept connections.")
    package static let workersJudging = Metric.gauge(
        "sallyport_workers_judging",
        "Workers that hold a lease on the registry and so can judge requests."
    )

    package static let defences = Metric.counter(
        "sallyport_defences_total",
        "Clients that were turned away, cut off or answered 503 by a defence, by its name."
    )
    package static let memoryResident = Metric.gauge(
        "sallyport_memory_resident_bytes",
        "Memory of the workers, without pages of files."
    )
    package static let memoryBudget = Metric.gauge(
        "sallyport_memory_budget_bytes",
        "What the workers may use before they shed load: memory.per_worker for each."
    )
    package static let memoryShedding = Metric.gauge(
        "sallyport_memory_shedding",
        "Workers that shed load because their memory runs short."
    )
    package static let streamsEnded = Metric.counter(
        "sallyport_streams_ended_total",
        "WebSockets and other answers under way that were ended, by reason (revoked, expired, going_away)."
    )
    package static let tokenChecks = Metric.counter(
        "sallyport_token_checks_total",
        "Signatures of tokens checked by result (good, bad); dropped: there was no place to wait for a check."
    )
    package static let clockDifference = Metric.gauge(
        "sallyport_clock_difference_milliseconds",
        "How far the clock of Redis is ahead of ours; beyond 60,000 it decides when tokens end."
    )
    package static let issuerFetches = Metric.counter(
        "sallyport_issuer_key_fetches_total",
        "Fetches of outside issuers' key sets by issuer and outcome (fetched, unchanged, unreachable, bad_answer, bad_set, bad_address)."
    )
    package static let issuerKeys = Metric.gauge("sallyport_issuer_keys", "Keys held of an outside issuer.")
    package static let issuerKeysAge = Metric.gauge(
        "sallyport_issuer_keys_age_seconds",
        "Time since the key set of an outside issuer was last fetched or confirmed; after a day it counts no longer."
    )

    /// In the order of the exposition.
    package static let all: [Metric] = [
        requests, requestDuration, upstreamDuration, loopTurns,
        inFlight, receivedBytes, sentBytes, appRequests, decisions,
        rateLimit,
        originRefusals, openConnections, connections, acceptPauses, tlsHandshakes, parseErrors, http2Streams,
        http2Resets,
        protocolRequests,
        upstreamConnections,
        upstreamConnectionsTotal, upstreamIdle, upstreamFailures, upstreamEjections, upstreamStreams, openWebSockets,
        redisDuration, upstreamRetries, redisUp,
        registryCache, signInAnswers, playQuestions, logDropped,
        trustRootNotAfter, statusListTimestamp, statusListEntries, statusListFetches,
        configSuccessful, configTimestamp, certificateNotAfter, restarts, hangs, workersServing, workersJudging,
        defences, memoryResident, memoryBudget, memoryShedding,
        streamsEnded, tokenChecks, clockDifference,
        issuerFetches, issuerKeys, issuerKeysAge, registryLost, registryChangesLost,
        childrenUnable,
    ]
}
