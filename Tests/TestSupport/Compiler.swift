import Foundation
import Glibc

/// Runs the Swift compiler on sources that use the built modules; its diagnostics tell what does not compile.
package enum Compiler {
  package struct Unavailable: Error, CustomStringConvertible { package let description: String }

  /// The compiler's errors by the name of the source that they are in; sources that compile are left out.
  ///
  /// All are compiled together, as files of one module. What the compiler finds out late it tells only of sources
  /// without earlier errors: those are compiled again.
  /// - Parameter common: another source, which all others may count on.
  package static func errors(in sources: [String: String], common: String) throws -> [String: [String]] {
    var found: [String: [String]] = [:]
    while true {
      let rest = sources.filter { found[$0.key] == nil }
      let errors = rest.isEmpty ? [:] : try compile(rest, common)
      if errors.isEmpty { return found }
      found.merge(errors) { $1 }
    }
  }

  private static func compile(_ sources: [String: String], _ common: String) throws -> [String: [String]] {
    let directory = try TemporaryDirectory()
    func path(_ name: String) -> String { directory.path(name + ".swift") }
    try common.write(toFile: path("Common"), atomically: true, encoding: .utf8)
    for (name, text) in sources { try text.write(toFile: path(name), atomically: true, encoding: .utf8) }
    let modules = try RepositoryPaths.buildFolder().appending(path: "Modules").path(percentEncoded: false)
    let wrapped = ["CInih", "CLinux", "CMicroHTTPD", "CSQLite", "CSystemd", "CZlib", "CZstd"].map {
      "-I '\(RepositoryPaths.root.appending(path: "Sources/\($0)").path)'"
    }
    let flags =
      "-module-name Sources -swift-version 6 -parse-as-library -I '\(modules)' " + wrapped.joined(separator: " ")
    // Whether values may leave their isolation is found out after type checking, hence more than -typecheck.
    let command = "swiftc -emit-sil -wmo -o /dev/null \(flags) '\(directory.path)'/*.swift 2>&1"
    guard let pipe = popen(command, "re") else { throw Unavailable(description: "swiftc can't be started") }
    var output: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while case let count = fread(&buffer, 1, buffer.count, pipe), count > 0 { output += buffer[..<count] }
    let status = pclose(pipe)
    let lines = String(decoding: output, as: UTF8.self).split(separator: "\n")
    var errors: [String: [String]] = [:]
    for line in lines {
      guard let mark = line.range(of: ": error: "),
        let name = sources.keys.first(where: { line.hasPrefix(path($0) + ":") })
      else { continue }
      errors[name, default: []].append(String(line[mark.upperBound...]))
    }
    if status != 0 && errors.isEmpty { throw Unavailable(description: lines.joined(separator: "\n")) }
    return errors
  }
}
