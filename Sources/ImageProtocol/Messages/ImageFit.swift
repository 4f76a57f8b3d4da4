/// How a picture is fitted to a width and a height of another shape.
package enum ImageFit: String, Codable, Sendable, CaseIterable {
  /// The whole picture, as large as fits within the box.
  case inside
  /// The whole box, with what is beyond it cut off.
  case cover
  /// Exactly the box, distorting the picture where the shapes differ.
  case fill
  /// The whole picture in the middle of the box, the rest of which has the background's colour.
  case pad
}
