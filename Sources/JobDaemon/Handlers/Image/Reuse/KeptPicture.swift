import ImageProtocol
import SystemSupport

/// What lies beside a picture that is kept: how it was made, and what there is to tell of it.
struct KeptPicture: Codable {
  static let fileName = "description.json"
  /// The picture itself; a placeholder has none.
  static let pictureName = "0"

  /// What changes when pictures are to be made anew: the form of this, or how they are encoded.
  static let version = 3

  var version = KeptPicture.version
  /// Asks for one output, or for a placeholder.
  let request: ImageRequest
  let output: ImageReply.Output?
  let placeholder: ImageReply.Placeholder?

  /// Opens the picture; nil if it is missing or is not what it was.
  func open(in folder: String) -> KnownPicture? {
    guard version == Self.version else { return nil }
    guard let output else { return KnownPicture(output: nil, placeholder: placeholder, file: nil) }
    guard let file = try? FileDescriptor.open("\(folder)/\(Self.pictureName)"), let size = try? file.status().size,
      size == output.bytes
    else { return nil }
    return KnownPicture(output: output, placeholder: nil, file: file.take())
  }
}
