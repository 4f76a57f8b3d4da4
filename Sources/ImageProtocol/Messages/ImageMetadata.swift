/// What of a picture's metadata an output keeps.
package enum ImageMetadata: String, Codable, Sendable, CaseIterable {
  /// All of it.
  case all
  /// The colour profile.
  case icc
  /// Artist and copyright notice of the EXIF data.
  case copyright
}
