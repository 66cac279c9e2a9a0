// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

@main
struct Main {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.first == "lab" { exit(LabCommand.run(Array(arguments.dropFirst()))) }
    }
}
