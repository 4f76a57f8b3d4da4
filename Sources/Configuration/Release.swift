/// The release, as all programs of the package name it.
package enum Release {
  /// After semver.org.
  package static let version = "0.1.0"
}
