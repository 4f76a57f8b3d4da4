import Configuration
import ImageProtocol
import JSONText
import Jobs
import TextSupport

/// What a job says about one output, and the preset that it names.
struct ImageOutputArguments {
  /// Where the file goes; nil if the picture is kept as an object only.
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

  /// The output's own keys over those of the preset; `null` takes back what the preset says.
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

  /// What `colours` may say.
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
