// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The keys of `memory`.
enum MemorySection {
    static let perWorker = Setting(
        "per_worker",
        ValueKind.memoryBudget,
        .standard(nil),
        "What a worker may use. From 75 % of it idle connections are closed, from 85 % no new ones taken, from 92 % new requests answered 503. `auto`: half of the machine's, or its control group's, shared by the workers."
    )

    static let schema = SectionSchema("memory", [perWorker.row])

    static let kind = ValueKind<MemorySettings>.section(schema) { section in
        section.value(perWorker).map(MemorySettings.init(perWorker:))
    }
}

extension ValueKind where Value == ByteCount? {
    static let memoryBudget = ValueKind(
        "`auto` or size",
        "auto, or a size from 32MiB, such as 512MiB",
        parse: { text in
            if text == "auto" { return .some(nil) }
            guard let size = ByteCountText.parse(text), size >= .mebibytes(32) else { return nil }
            return size
        },
        write: { _ in "auto" }
    )
}
