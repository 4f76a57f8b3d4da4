import Configuration
import ImageProtocol
import JSONText
import Jobs
import TextSupport

/// The arguments of an `image.encode`: one input, any number of outputs, and what else is wanted of it.
struct ImageEncodeArguments {
  let input: String
  let outputs: [ImageOutputArguments]
  /// True if the picture is turned as its orientation tag says.
  let isTurned: Bool
  /// The faults of an input that make the job fail.
  let failOn: ImageFailOn
  let wantsPlaceholder: Bool
  /// True if outputs of an earlier job with the same input and options may be reused.
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

/// The arguments of one output, over those of the preset that it names.
struct ImageOutputArguments {
  /// The path of the file; nil if the picture is kept as an object only.
  let path: OutputPath?
  /// The permission bits of the file; nil for the usual ones.
  let mode: UInt32?
  let preset: String?
  let picture: ImageOutput
  /// The title under which the picture is kept as `Image` and `ImageBlob`; nil to keep no object.
  let storedTitle: String?

  /// - Parameter title: under which the job keeps this output, whatever the output says itself.
  init(
    _ value: JSONValue, path place: String, presets: [String: Configuration.ImagePreset], title: String?
  ) throws(JobFileError) {
    let named = try ArgumentReader(value, path: place)
    preset = try named.text("preset")
    let reader = try ArgumentReader(
      Self.merge(value, try Self.preset(named, presets), path: place), path: place)
    try reader.allow(Self.keys)
    storedTitle = try StoredPicture.title(in: reader, path: place + ".store") ?? title
    path = try Self.path(reader)
    if path == nil && storedTitle == nil {
      throw reader.error("is missing; an output without a path is kept as an object, with \"store\"", "path")
    }
    mode = try Self.mode(reader)
    var picture = try Self.picture(reader, path)
    picture.fileCount = (path == nil ? 0 : 1) + (storedTitle == nil ? 0 : 1)
    self.picture = picture
  }

  private static let keys = [
    "preset", "path", "mode", "store", "format", "width", "height", "fit", "crop", "background", "enlarge", "quality",
    "effort", "progressive", "lossless", "compression", "palette", "maxBytes", "metadata", "colours", "animated",
  ]

  private static func preset(
    _ reader: ArgumentReader, _ presets: [String: Configuration.ImagePreset]
  ) throws(JobFileError) -> JSONObject {
    guard let name = try reader.text("preset") else { return JSONObject() }
    if let preset = presets[name] { return preset.arguments }
    let known = presets.isEmpty ? "none is configured" : "there are \(presets.keys.sorted().joined(separator: ", "))"
    let nearest = NearestName.find(name, in: presets.keys.sorted()).map { "; did you mean \"\($0)\"?" } ?? ""
    throw reader.error(
      "there is no preset \"\(name)\" ([ImagePreset] in the configuration); \(known)\(nearest)", "preset")
  }

  /// The output's own keys over those of the preset; `null` drops the preset's value.
  private static func merge(_ value: JSONValue, _ preset: JSONObject, path: String) throws(JobFileError) -> JSONValue {
    var merged = preset
    guard let own = value.object else { return value }
    for key in own.keys { merged[key] = own[key] == .null ? nil : own[key] }
    return .object(merged)
  }

  private static func path(_ reader: ArgumentReader) throws(JobFileError) -> OutputPath? {
    guard reader.value("path") != nil else { return nil }
    let text = try reader.requiredPath("path")
    do throws(OutputPath.Problem) { return try OutputPath(text) } catch { throw reader.error(error.message, "path") }
  }

  private static func mode(_ reader: ArgumentReader) throws(JobFileError) -> UInt32? {
    guard let text = try reader.text("mode") else { return nil }
    guard text.utf8.count >= 3, let mode = UInt32(text, radix: 8), mode <= 0o777 else {
      throw reader.error("must be permission bits from \"000\" to \"777\", such as \"640\", but is \"\(text)\"", "mode")
    }
    return mode
  }

  private static func picture(_ reader: ArgumentReader, _ path: OutputPath?) throws(JobFileError) -> ImageOutput {
    let given = try reader.word("format", ImageFormat.self, among: ImageFormat.writable)
    guard let format = given ?? path?.format else {
      throw reader.error("is missing, and the path has no known ending", "format")
    }
    return ImageOutput(
      format: format, width: try reader.integer("width", in: 1...65_535),
      height: try reader.integer("height", in: 1...65_535), fit: try reader.word("fit", ImageFit.self) ?? .inside,
      crop: try reader.word("crop", ImageCrop.self), background: try colour(reader),
      enlarge: try reader.flag("enlarge") ?? false, quality: try reader.integer("quality", in: 1...100),
      effort: try reader.integer("effort", in: 1...10), isProgressive: try reader.flag("progressive") ?? false,
      isLossless: try reader.flag("lossless") ?? false, compression: try reader.integer("compression", in: 0...9),
      hasPalette: try reader.flag("palette") ?? false, maxBytes: try reader.size("maxBytes", in: 1...1 << 40),
      metadata: try metadata(reader), keepsColours: try reader.word("colours", ColourWord.self) == .keep,
      isAnimated: try reader.flag("animated") ?? false)
  }

  /// The words of `colours`.
  enum ColourWord: String, CaseIterable { case srgb, keep }

  private static func colour(_ reader: ArgumentReader) throws(JobFileError) -> ImageColour? {
    guard let text = try reader.text("background") else { return nil }
    if let colour = ImageColour(text) { return colour }
    throw reader.error(
      "must be #rrggbb, #rrggbbaa, white, black or transparent, but is \"\(text)\"", "background")
  }

  private static func metadata(_ reader: ArgumentReader) throws(JobFileError) -> [ImageMetadata] {
    guard let value = reader.value("metadata") else { return [] }
    let words = value.array ?? [value]
    if words == ["none"] { return [] }
    var kept: [ImageMetadata] = []
    for word in words {
      guard let known = word.string.flatMap(ImageMetadata.init) else {
        throw reader.error("must be none, or some of all, icc, copyright", "metadata")
      }
      kept.append(known)
    }
    return kept
  }
}

extension ArgumentReader {
  /// A number of bytes: a whole number, or a text as in the configuration, such as `60K`.
  fileprivate func size(_ key: String, in range: ClosedRange<Int>) throws(JobFileError) -> Int? {
    guard let text = value(key)?.string else { return try integer(key, in: range) }
    guard let bytes = SizeText.bytes(text), range.contains(bytes) else {
      throw error(
        "must be a number of bytes from \(range.lowerBound) to \(range.upperBound), or one with K, M, G or T such as "
          + "\"60K\", but is \"\(text)\"", key)
    }
    return bytes
  }
}
