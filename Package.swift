// swift-tools-version: 6.2
// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import PackageDescription

/// The language policy of every Swift target: an arrow in `dependencies` is the only permission to import.
let house: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableExperimentalFeature("Lifetimes"),
    // An isolation check per C callback costs 135 ns; debug builds and tests keep it.
    // Checks for overlapping accesses cost about a tenth of the user instructions of a request, a fifth of Transport's
    // own; debug builds and tests keep them.
    .unsafeFlags(
        ["-disable-dynamic-actor-isolation", "-enforce-exclusivity=unchecked"],
        .when(configuration: .release)
    ),
]

func library(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: house)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: "\(name)Tests", dependencies: dependencies, path: "Tests/\(name)Tests", swiftSettings: house)
}

let package = Package(
    name: "sallyport",
    products: [.executable(name: "sallyport", targets: ["sallyport"])],
    targets: [
        .target(name: "CLinux"),
        .target(name: "COpenSSL"),
        .systemLibrary(name: "CNghttp2"),
        .systemLibrary(name: "CHiredis"),
        .systemLibrary(name: "CYAML"),

        library("Buffers"),
        library("Encodings", ["CYAML"]),
        library("Telemetry", ["Buffers", "Encodings"]),
        library("Crypto", ["COpenSSL", "Encodings"]),
        library("Transport", ["Buffers", "CLinux", "COpenSSL", "Crypto", "Telemetry"]),
        library("HTTP", ["Buffers", "CNghttp2", "Encodings"]),
        library("Attestation", ["Crypto", "Encodings"]),
        library("Credentials", ["Attestation", "Buffers", "Crypto", "Encodings"]),
        library("Limits"),
        library(
            "Store",
            [
                "Attestation", "Buffers", "CHiredis", "Credentials", "Crypto", "Encodings", "Limits", "Telemetry",
                "Transport",
            ]
        ),
        library(
            "Gateway",
            [
                "Attestation", "Buffers", "Credentials", "Crypto", "Encodings", "HTTP", "Limits", "Store", "Telemetry",
                "Transport",
            ]
        ),
        .executableTarget(
            name: "sallyport",
            dependencies: ["Attestation", "Crypto", "Encodings", "Gateway", "Telemetry"],
            swiftSettings: house
        ),

        tests("Attestation", ["Attestation", "Crypto", "Encodings"]),
        tests("Credentials", ["Credentials", "Crypto"]),
        tests("Crypto", ["Crypto", "Encodings"]),
        tests("Encodings", ["Encodings"]),
        tests("Fetch", ["Attestation", "Buffers", "Crypto", "Encodings", "Gateway", "Transport"]),
        tests(
            "Gateway",
            [
                "Attestation", "Buffers", "Credentials", "Crypto", "Encodings", "Gateway", "Limits", "Store",
                "Telemetry", "Transport",
            ]
        ),
        tests("HTTP", ["Buffers", "HTTP"]),
        // What a window does, for the tests of what it promises and of the script that does it in Redis.
        .target(name: "WindowModel", dependencies: ["Limits"], path: "Tests/WindowModel", swiftSettings: house),
        tests("Limits", ["Limits", "WindowModel"]),
        tests("Telemetry", ["Telemetry"]),
        tests("sallyport", ["Attestation", "Credentials", "Encodings", "Gateway", "HTTP", "sallyport"]),
        tests("Transport", ["Buffers", "Crypto", "Transport"]),
        tests(
            "Store",
            [
                "Attestation", "Buffers", "Credentials", "Crypto", "Encodings", "Limits", "Store", "Telemetry",
                "Transport", "WindowModel",
            ]
        ),
        // What the fuzzers of the wire hold every input to, and a test that holds kept inputs to it.
        .target(
            name: "WireProperties",
            dependencies: ["Buffers", "Credentials", "Crypto", "Gateway", "HTTP", "Transport"],
            path: "Fuzz/Wire",
            swiftSettings: house
        ),
        tests("WireProperties", ["WireProperties"]),
    ]
)

// Not part of the product: loadtest/proofs.sh and deploy/fuzz.sh build what they need of this.
let measures = Context.environment["SALLYPORT_BENCH"] != nil
let fuzzes = Context.environment["SALLYPORT_FUZZ"] != nil
let entry = house + [.unsafeFlags(["-parse-as-library"])]
if measures || fuzzes {
    let dependencies: [Target.Dependency] = ["Attestation", "Crypto", "Encodings"]
    package.targets.append(
        .target(name: "FuzzProperties", dependencies: dependencies, path: "Fuzz/Properties", swiftSettings: house)
    )
}
if measures {
    package.targets += [
        .executableTarget(
            name: "ProofsBenchmark",
            dependencies: ["Attestation", "COpenSSL", "Crypto", "Encodings"],
            path: "Benchmarks/Proofs",
            swiftSettings: entry
        ),
        .executableTarget(
            name: "InputTiming",
            dependencies: ["FuzzProperties"],
            path: "Benchmarks/InputTiming",
            swiftSettings: entry
        ),
        .executableTarget(
            name: "TransportBenchmark",
            dependencies: ["Buffers", "Transport"],
            path: "Benchmarks/Transport",
            swiftSettings: entry
        ),
    ]
}
if fuzzes {
    package.targets += [
        .executableTarget(
            name: "ProofsFuzz",
            dependencies: ["FuzzProperties"],
            path: "Fuzz/ProofsFuzz",
            swiftSettings: entry
        ),
        .executableTarget(
            name: "WireFuzz",
            dependencies: ["WireProperties"],
            path: "Fuzz/WireFuzz",
            swiftSettings: entry
        ),
    ]
}
