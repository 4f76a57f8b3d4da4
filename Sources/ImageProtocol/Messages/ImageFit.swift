/// How a picture is fitted to a width and a height of another shape.
package enum ImageFit: String, Codable, Sendable, CaseIterable {
  /// The whole picture, as large as fits within the box.
  case inside
  /// The whole box, cut from the picture's centre.
  case cover
  /// Exactly the box, distorting the picture where the shapes differ.
  case fill
}
