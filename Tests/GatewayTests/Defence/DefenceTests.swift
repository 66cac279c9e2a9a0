// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Testing
import Transport

@testable import Gateway

@Suite struct DefenceNameTests {
    @Test func `every flood has a defence of the same name`() {
        for flood in HTTP2Flood.allCases { #expect(Defence(flood).rawValue == flood.rawValue) }
    }

    @Test func `every bad header of a balancer is named but the one that never came`() {
        for failure in ProxyFailure.allCases {
            #expect(Defence(failure)?.rawValue == (failure == .closedEarly ? nil : "proxy_\(failure.rawValue)"))
        }
    }
}
