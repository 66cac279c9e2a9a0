// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Glibc

/// A user of the system that children drop to.
package struct Account: Sendable, Equatable {
    package let name: String
    package let user: uid_t
    package let group: gid_t

    /// Finds the user named in the configuration.
    package init(named name: String) throws(ProcessFault) {
        guard let entry = unsafe getpwnam(name) else {
            throw ProcessFault("there is no user \"\(name)\"", nextSteps: ["useradd --system \(name)"])
        }
        self.name = name
        self.user = unsafe entry.pointee.pw_uid
        self.group = unsafe entry.pointee.pw_gid
    }

    /// The name of a user id: who sent a command.
    ///
    /// The number when the system knows no name.
    package static func name(of user: uid_t) -> String {
        guard let entry = unsafe getpwuid(user), let name = unsafe entry.pointee.pw_name else { return "uid \(user)" }
        return unsafe String(cString: name)
    }

    /// Gives up root for good; nothing of root's rights is left.
    package func become() throws(ProcessFault) {
        guard unsafe initgroups(name, group) == 0, setgid(group) == 0, setuid(user) == 0 else {
            throw ProcessFault(doing: "become \(name)", errno: errno)
        }
    }

    /// Has root look at files with the rights of the account; who it really is, which `access` asks about, stays root.
    func lending<Result>(_ body: () -> Result) -> Result {
        let groups = unsafe [gid_t](unsafeUninitializedCapacity: 65_536) { room, count in
            count = Int(max(0, unsafe getgroups(CInt(room.count), room.baseAddress)))
        }
        let group = getegid()
        _ = unsafe initgroups(name, self.group)
        _ = setegid(self.group)
        _ = seteuid(user)
        defer {
            _ = seteuid(0)
            _ = setegid(group)
            _ = unsafe setgroups(groups.count, groups)
        }
        return body()
    }

    /// The account to drop to: the configured one, when this process is root.
    package static func toDropTo(_ name: String?) throws(ProcessFault) -> Account? {
        guard let name, geteuid() == 0 else { return nil }
        return try Account(named: name)
    }
}
