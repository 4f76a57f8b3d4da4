import ImageProtocol
import JSONText
import Jobs

/// The arguments of an `image.encode`: one input, any number of outputs, and whether the first is kept as an object.
struct ImageEncodeArguments {
  struct Output {
    let path: String
    let picture: ImageOutput
  }

  let input: String
  let outputs: [Output]
  /// The title under which the first output is kept as `Image` and `ImageBlob`; nil to keep files only.
  let storedTitle: String?

  /// The most outputs that one request to a helper carries.
  private static let outputLimit = 30

  init(_ arguments: JSONValue) throws(JobFileError) {
    let reader = try ArgumentReader(arguments)
    try reader.allow(["input", "outputs", "store"])
    input = try reader.requiredPath("input")
    guard let list = reader.value("outputs")?.array, !list.isEmpty else {
      throw reader.error("must be a list of at least one output", "outputs")
    }
    if list.count > Self.outputLimit {
      throw reader.error("has \(list.count) outputs; there can be \(Self.outputLimit)", "outputs")
    }
    var outputs: [Output] = []
    for (index, value) in list.enumerated() {
      outputs.append(try Self.output(value, "arguments.outputs.\(index)"))
    }
    var paths: Set<String> = []
    for (index, output) in outputs.enumerated() where !paths.insert(output.path).inserted {
      throw reader.error("is the path of an earlier output", "outputs.\(index).path")
    }
    self.outputs = outputs
    if let store = reader.value("store") {
      let storeReader = try ArgumentReader(store, path: "arguments.store")
      try storeReader.allow(["title"])
      storedTitle = try storeReader.text("title") ?? ""
    } else {
      storedTitle = nil
    }
    do throws(ImageError) {
      try ImageRequest(outputs: outputs.map(\.picture)).validate()
    } catch {
      throw reader.error(error.message, "outputs")
    }
  }

  private static func output(_ value: JSONValue, _ path: String) throws(JobFileError) -> Output {
    let reader = try ArgumentReader(value, path: path)
    try reader.allow(["path", "format", "width", "height", "fit", "enlarge", "quality"])
    let file = try reader.requiredPath("path")
    let given = try reader.word("format", ImageFormat.self, among: [.jpeg, .png, .webp])
    guard let format = given ?? format(ofName: file) else {
      throw reader.error("is missing, and the path has no known ending", "format")
    }
    let picture = ImageOutput(
      format: format, width: try reader.integer("width", in: 1...65_500),
      height: try reader.integer("height", in: 1...65_500), fit: try reader.word("fit", ImageFit.self) ?? .inside,
      enlarge: try reader.flag("enlarge") ?? false, quality: try reader.integer("quality", in: 1...100))
    return Output(path: file, picture: picture)
  }

  private static func format(ofName name: String) -> ImageFormat? {
    let ending = name.split(separator: ".").last.map { $0.lowercased() }
    return switch ending {
    case "jpg", "jpeg": .jpeg
    case "png": .png
    case "webp": .webp
    default: nil
    }
  }
}
