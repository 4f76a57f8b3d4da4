import Foundation

/// Runs the Swift compiler on sources that use the built modules; its diagnostics tell what does not compile.
package enum Compiler {
  package struct Unavailable: Error, CustomStringConvertible { package let description: String }

  /// The compiler's errors by the name of the source that they are in; sources that compile are left out.
  ///
  /// All are compiled together, as files of one module. What the compiler finds out late it tells only of sources
  /// without earlier errors: those are compiled again.
  /// - Parameter common: another source, which all others may count on.
  package static func errors(in sources: [String: String], common: String) async throws -> [String: [String]] {
    var found: [String: [String]] = [:]
    while true {
      let rest = sources.filter { found[$0.key] == nil }
      let errors = rest.isEmpty ? [:] : try await compile(rest, common)
      if errors.isEmpty { return found }
      found.merge(errors) { $1 }
    }
  }

  private static func compile(_ sources: [String: String], _ common: String) async throws -> [String: [String]] {
    let directory = try TemporaryDirectory()
    func path(_ name: String) -> String { directory.path(name + ".swift") }
    try common.write(toFile: path("Common"), atomically: true, encoding: .utf8)
    for (name, text) in sources { try text.write(toFile: path(name), atomically: true, encoding: .utf8) }
    let modules = try RepositoryPaths.buildFolder().appending(path: "Modules").path(percentEncoded: false)
    let wrapped = [
      "CCrypto", "CInih", "CLinux", "CMicroHTTPD", "CPostgres", "CRelease/include", "CSQLite", "CSystemd", "CZlib",
      "CZstd",
    ].map { "-I '\(RepositoryPaths.root.appending(path: "Sources/\($0)").path)'" }
    let flags =
      "-module-name Sources -swift-version 6 -parse-as-library -I '\(modules)' " + wrapped.joined(separator: " ")
    // Whether values may leave their isolation is found out after type checking, hence more than -typecheck.
    let command = "swiftc -emit-sil -wmo -o /dev/null \(flags) '\(directory.path)'/*.swift 2>&1"
    let compiler = try await Tool.run(
      "/bin/sh", ["-c", command], environment: ProcessInfo.processInfo.environment, seconds: 300)
    let lines = compiler.output.split(separator: "\n")
    var errors: [String: [String]] = [:]
    for line in lines {
      guard let mark = line.range(of: ": error: "),
        let name = sources.keys.first(where: { line.hasPrefix(path($0) + ":") })
      else { continue }
      errors[name, default: []].append(String(line[mark.upperBound...]))
    }
    if compiler.code != 0 && errors.isEmpty { throw Unavailable(description: lines.joined(separator: "\n")) }
    return errors
  }
}
