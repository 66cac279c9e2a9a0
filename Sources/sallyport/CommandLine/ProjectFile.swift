// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

/// `sallyport.json` in the folder of a project: the tenants' file of one app.
enum ProjectFile {
    static let name = "sallyport.json"

    /// The App ID, where the file names exactly one.
    static func app(in directory: String = ".") -> String? {
        guard case .success(let bytes) = Files.read("\(directory)/\(name)") else { return nil }
        do {
            let organizations = try JSONValue(parsing: bytes, limits: .document).items("organizations")
            let apps = organizations.flatMap { $0.items("apps") }
            return apps.count == 1 ? apps[0]["id"]?.string : nil
        } catch {
            return nil
        }
    }
}
