package import Foundation
import SystemSupport

/// Where the package and what it built lie.
package enum RepositoryPaths {
  /// The folder of Package.swift.
  package static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  /// The folder of test pictures, tables and the like.
  package static let fixtures = root.appending(path: "Tests/Fixtures", directoryHint: .isDirectory)

  /// The folder that holds this build's executables, beside the test bundle.
  package static func buildFolder() throws -> URL {
    // The tests run from the bundle, or from a helper which gets the bundle's path as an argument.
    for argument in CommandLine.arguments where argument.hasSuffix(".xctest") {
      return URL(filePath: argument).deletingLastPathComponent()
    }
    return URL(filePath: try Executable.ownPath()).deletingLastPathComponent()
  }

  /// One of this package's built executables.
  package static func executable(_ name: String) throws -> URL {
    let url = try buildFolder().appending(path: name)
    guard FileManager.default.isExecutableFile(atPath: url.path(percentEncoded: false)) else {
      throw MissingExecutable(path: url.path(percentEncoded: false))
    }
    return url
  }

  /// The path of a program; one without a slash is this package's own.
  package static func program(_ name: String) throws -> String {
    try name.hasPrefix("/") ? name : executable(name).path(percentEncoded: false)
  }

  package struct MissingExecutable: Error, CustomStringConvertible {
    let path: String
    package var description: String { "\(path) is not built; run `swift build` first" }
  }
}
