import ImageProtocol
import SystemSupport

/// What lies beside pictures that are kept: how they were made, and what there is to tell of them.
struct KeptPictures: Codable {
  static let fileName = "description.json"

  /// What changes when pictures are to be made anew: the form of this, or how they are encoded.
  static let version = 1

  var version = KeptPictures.version
  let request: ImageRequest
  let outputs: [ImageReply.Output]
  let placeholder: ImageReply.Placeholder?

  /// Opens the pictures; nil if one is missing or is not what it was.
  func open(in folder: String) -> KnownPictures? {
    guard version == Self.version else { return nil }
    var files: [Int32] = []
    for (index, output) in outputs.enumerated() {
      guard let file = try? FileDescriptor.open("\(folder)/\(index)"), let size = try? file.status().size,
        size == output.bytes
      else {
        for file in files { _ = FileDescriptor(owning: file) }
        return nil
      }
      files.append(file.take())
    }
    return KnownPictures(outputs: outputs, placeholder: placeholder, files: files)
  }
}
