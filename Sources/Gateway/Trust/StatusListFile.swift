// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Attestation
import Encodings

/// The fetched status list as control keeps it in the state directory, so that the operator's own bundle stays his.
package struct StatusListFile: Sendable {
    /// A list with when it was right, and what its server called it.
    package struct Copy: Sendable {
        /// The list.
        package let list: StatusList
        /// When it was fetched.
        package let fetchedAt: Moment
        /// The server's name for it.
        package let entityTag: String?
        /// Where it came from.
        package let source: String
    }

    /// Where it is.
    package let path: String

    /// The file at `path`.
    package init(path: String) {
        self.path = path
    }

    /// The list that was fetched last; nil: none, or one that does not read and will be replaced.
    package func copy() -> Copy? {
        do {
            let document = try JSONValue(parsing: try SmallFile.readRegular(path), limits: .document)
            guard let list = document["list"], let source = document["from"]?.string,
                let milliseconds = document["fetched_at"]?.string.flatMap(InternetTime.milliseconds)
            else { return nil }
            return Copy(
                list: try StatusList(list),
                fetchedAt: Moment(milliseconds: milliseconds),
                entityTag: document["entity_tag"]?.string,
                source: source
            )
        } catch {
            return nil
        }
    }

    /// Replaces it in one step with a list that has been read already.
    package func store(
        _ bytes: [UInt8],
        fetchedAt: Moment,
        entityTag: String?,
        source: String
    ) throws(FileFailure) {
        var head = JSONWriter()
        head.beginObject()
        head.member("fetched_at", InternetTime.text(seconds: fetchedAt.seconds))
        head.member("from", source)
        head.member("entity_tag", entityTag)
        head.endObject()
        let text = head.bytes.dropLast() + Array(#","list":"#.utf8) + bytes + Array("}\n".utf8)
        try SmallFile.write(Array(text), to: path)
    }
}
