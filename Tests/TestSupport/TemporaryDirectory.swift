package import Foundation
package import SystemSupport

/// A fresh directory for one test, removed with everything in it when this object goes away.
package final class TemporaryDirectory: Sendable {
  package let path: String

  package var url: URL { URL(filePath: path, directoryHint: .isDirectory) }

  /// Makes it under the system's temporary directory, with a path short enough for sockets.
  package init() throws {
    let name = "bobbin-" + String(UInt64.random(in: .min ... .max), radix: 36)
    let url = FileManager.default.temporaryDirectory.appending(path: name, directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    path =
      url.path(percentEncoded: false).last == "/"
      ? String(url.path(percentEncoded: false).dropLast()) : url.path(percentEncoded: false)
  }

  deinit {
    // Nothing can be done about a directory that can't be removed, and the test's own failure matters more.
    try? FileManager.default.removeItem(atPath: path)
  }

  /// The path of an entry in it.
  package func path(_ name: String) -> String {
    path + "/" + name
  }

  /// Opens it.
  package func open() throws -> Directory {
    try Directory(path: path)
  }
}
