/// Which part of a picture stays when it is cut to cover a box.
package enum ImageCrop: String, Codable, Sendable, CaseIterable {
  case centre
  /// The part that people would look at: skin, bright colours, detail.
  case attention
  /// The part with the most detail.
  case entropy
}
