internal import CRelease

/// The release, as all programs of the package name it.
package enum Release {
  /// The text of the file VERSION, after semver.org.
  package static let version = String(String(cString: release_version()).prefix { !$0.isNewline })

  /// Names a program as its option `--version` does, such as "bobbind 0.1.0 (commit 6134447e1fa2, release build)".
  package static func description(of program: String) -> String {
    let commit = String(cString: release_commit())
    let origin = (commit.isEmpty ? [] : ["commit \(commit)"]) + ["\(String(cString: release_build())) build"]
    return "\(program) \(version) (\(origin.joined(separator: ", ")))"
  }
}
