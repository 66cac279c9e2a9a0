// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Testing

@Suite
struct PathPolicyTests {
    static func form(_ path: String, _ policy: PathPolicy) -> Result<String, PathProblem> {
        var buffer = ByteBuffer()
        do throws(PathProblem) {
            try policy.apply(to: latin1(path).span, into: &buffer)
            return .success(text(buffer))
        } catch {
            return .failure(error)
        }
    }

    @Test(arguments: ["/", "/a/b", "/a%20b/", "/.well-known/x", "/a%3Bb=c/d", "/...", "/a..b", "/%41", "*", "/a%2ea"])
    func `an unambiguous path passes all policies`(_ path: String) {
        #expect(Self.form(path, .raw) == .success(path))
        #expect(Self.form(path, .reject) == .success(path))
    }

    @Test(arguments: [
        ("/a/../b", PathProblem.dotSegment), ("/.", .dotSegment), ("/a/%2e%2E/b", .dotSegment),
        ("/a/.%2e", .dotSegment),
        ("//a", .emptySegment), ("/a//", .emptySegment), ("/a%2Fb", .encodedSlash), ("/a%2fb", .encodedSlash),
        ("/a\\b", .backslash), ("/a%5cb", .backslash), ("/a%00", .controlByte), ("/a%0d", .controlByte),
        ("/%7f", .controlByte), ("/a%", .malformedEscape), ("/a%2", .malformedEscape), ("/a%zz", .malformedEscape),
        ("/a/..;x/b", .dotSegmentParameter), ("/.;/b", .dotSegmentParameter), ("/%2e%2e;/b", .dotSegmentParameter),
        ("/a;b=c/d", .parameter), ("/a;", .parameter), ("/;x", .parameter), ("/a/b;c", .parameter),
    ])
    func `an ambiguous path is refused by reject, and passes raw`(_ path: String, _ problem: PathProblem) {
        #expect(Self.form(path, .reject) == .failure(problem))
        #expect(Self.form(path, .raw) == .success(path))
    }

    @Test(arguments: [
        ("/a/../b", "/b"), ("/a/./b", "/a/b"), ("/a/b/..", "/a/"), ("/a/.", "/a/"), ("/.", "/"), ("//a///b//", "/a/b/"),
        ("/%7euser/%41", "/~user/A"), ("/a%2eb/%c3%a9", "/a.b/%C3%A9"), ("/a/%2E%2e/b", "/b"), ("/a/b/../../c", "/c"),
        ("/%25%32e", "/%252e"), ("/a%3bb/../c", "/c"), ("/a%3bb", "/a%3Bb"), ("//", "/"), ("/a//../b", "/b"),
        ("/.well-known", "/.well-known"),
    ])
    func `normalise gives the one form`(_ path: String, _ expected: String) {
        #expect(Self.form(path, .normalise) == .success(expected))
        #expect(Self.form(expected, .normalise) == .success(expected), "the form is its own form")
    }

    @Test(arguments: [
        ("/..", PathProblem.aboveRoot), ("/a/../../b", .aboveRoot), ("/a%2fb", .encodedSlash), ("/a\\", .backslash),
        ("/a%00", .controlByte), ("/%", .malformedEscape), ("/..;/a", .dotSegmentParameter),
        ("/a;b/c", .parameter), ("/a;b/../c", .parameter),
    ])
    func `normalise refuses what has no one form`(_ path: String, _ problem: PathProblem) {
        #expect(Self.form(path, .normalise) == .failure(problem))
    }

    @Test
    func `a normal form holds nothing that reject refuses`() {
        var random = Seeded(state: 5)
        let parts = ["/", ".", "..", "%2e", "a", ";", "%41", "%", "%2f", "//", "b", "%C3", "\\", "~"]
        for _ in 0..<20_000 {
            var path = "/"
            for _ in 0..<Int.random(in: 0...8, using: &random) { path += parts.randomElement(using: &random) ?? "" }
            guard case .success(let form) = Self.form(path, .normalise) else { continue }
            #expect(Self.form(form, .reject) == .success(form), "\(path) -> \(form)")
            #expect(Self.form(form, .normalise) == .success(form), "\(path) -> \(form)")
        }
    }
}
