/// Which release this is, as all programs of the package say it.
package enum Release {
  /// After semver.org.
  package static let version = "0.1.0"
}
