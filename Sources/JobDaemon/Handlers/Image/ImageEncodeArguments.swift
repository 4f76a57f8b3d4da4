import Configuration
import ImageProtocol
import JSONText
import Jobs

/// The arguments of an `image.encode`: one input, any number of outputs, and what else is wanted of it.
struct ImageEncodeArguments {
  let input: String
  let outputs: [ImageOutputArguments]
  /// Whether the picture is turned as its orientation tag says.
  let isTurned: Bool
  /// What is wrong with an input that nothing is made of.
  let failOn: ImageFailOn
  let wantsPlaceholder: Bool
  /// Whether outputs may be taken from an earlier job that had the same input and wanted the same.
  let reuses: Bool

  /// The most files that one request to a helper carries.
  private static let fileLimit = 30

  /// - Parameter presets: what outputs can name, by name.
  init(_ arguments: JSONValue, presets: [String: Configuration.ImagePreset]) throws(JobFileError) {
    let reader = try ArgumentReader(arguments)
    try reader.allow(["input", "outputs", "store", "autoOrient", "failOn", "placeholder", "reuse"])
    input = try reader.requiredPath("input")
    isTurned = try reader.flag("autoOrient") ?? true
    failOn = try reader.word("failOn", ImageFailOn.self) ?? .error
    wantsPlaceholder = try reader.flag("placeholder") ?? false
    reuses = try reader.flag("reuse") ?? false
    guard let list = reader.value("outputs")?.array else {
      throw reader.error("must be a list of outputs, or [] only to look at the input", "outputs")
    }
    let firstTitle = try StoredPicture.title(in: reader, path: "arguments.store")
    if list.isEmpty && firstTitle != nil { throw reader.error("needs an output to be kept", "store") }
    var outputs: [ImageOutputArguments] = []
    for (index, value) in list.enumerated() {
      outputs.append(
        try ImageOutputArguments(
          value, path: "arguments.outputs.\(index)", presets: presets, title: index == 0 ? firstTitle : nil))
    }
    let fileCount = outputs.reduce(reuses ? outputs.count : 0) { $0 + $1.picture.fileCount }
    if fileCount > Self.fileLimit {
      throw reader.error(
        "make \(fileCount) files and objects\(reuses ? ", with those kept for reuse" : ""); there can be \(Self.fileLimit)",
        "outputs")
    }
    var paths: Set<String> = []
    for (index, output) in outputs.enumerated() {
      guard let path = output.path?.fixed else { continue }
      if !paths.insert(path).inserted {
        throw reader.error("is the path of an earlier output", "outputs.\(index).path")
      }
    }
    self.outputs = outputs
    do throws(ImageError) {
      try ImageRequest(outputs: outputs.map(\.picture)).validate()
    } catch {
      throw reader.error(error.message, "outputs")
    }
  }
}
