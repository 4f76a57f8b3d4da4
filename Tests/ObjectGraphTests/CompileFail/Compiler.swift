import Foundation
import Glibc
import TestSupport

/// Runs the Swift compiler on a source that uses the built modules; its diagnostics tell what does not compile.
enum Compiler {
  struct Unavailable: Error, CustomStringConvertible { let description: String }

  /// The compiler's errors, each as its text; empty if the source compiles.
  static func errors(in body: String) throws -> [String] {
    let directory = try TemporaryDirectory()
    let source = directory.path("main.swift")
    let text = "import ObjectGraph\nfinal class Person: ManagedObject {}\n" + body
    try text.write(toFile: source, atomically: true, encoding: .utf8)
    let modules = try RepositoryPaths.buildFolder().appending(path: "Modules").path(percentEncoded: false)
    let linux = RepositoryPaths.root.appending(path: "Sources/CLinux").path(percentEncoded: false)
    let flags = "-swift-version 6 -parse-as-library -I '\(modules)' -I '\(linux)'"
    let command = "swiftc -emit-sil -o /dev/null \(flags) '\(source)' 2>&1"
    guard let pipe = popen(command, "re") else { throw Unavailable(description: "swiftc can't be started") }
    var output: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while case let count = fread(&buffer, 1, buffer.count, pipe), count > 0 { output += buffer[..<count] }
    let status = pclose(pipe)
    let lines = String(decoding: output, as: UTF8.self).split(separator: "\n")
    let errors = lines.filter { $0.hasPrefix(source) && $0.contains(": error: ") }.map {
      String($0[$0.range(of: ": error: ")!.upperBound...])
    }
    if status != 0 && errors.isEmpty { throw Unavailable(description: lines.joined(separator: "\n")) }
    return errors
  }
}
