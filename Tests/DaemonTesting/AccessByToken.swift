import JSONText
import TestSupport
import Testing

/// A token that a test made, as an administrator does.
package struct AccessByToken {
  package let secret: String
  /// Its line in the file of tokens.
  package let line: String

  /// - Parameter arguments: those of `bobbinctl token`: a name and a role.
  package init(_ arguments: String...) async throws {
    let tool = try await Tool.run("bobbinctl", ["token", "--json"] + arguments)
    let made = try JSONValue(parsing: Array(tool.output.utf8), dialect: .json)
    secret = try #require(made["token"]?.string)
    line = try #require(made["line"]?.string)
  }
}

extension DaemonProcess {
  /// The port at which the daemon serves clients of TCP.
  package func tcpPort() throws -> String {
    let line = try #require(logLines.first { $0.contains("listening on 127.0.0.1:") })
    return String(try #require(line.split(separator: ":").last))
  }
}
