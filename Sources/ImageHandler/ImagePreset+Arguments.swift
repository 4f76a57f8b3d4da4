package import Configuration
import ImageProtocol
import JSONText
import Jobs

extension Configuration.ImagePreset {
  /// The preset as arguments of a job's output.
  var arguments: JSONObject {
    var object = JSONObject()
    func set(_ key: String, _ value: String?) { object[key] = value.map(JSONValue.string) }
    func set(_ key: String, _ value: Int?) { object[key] = value.map { .integer(Int64($0)) } }
    func set(_ key: String, _ value: Bool?) { object[key] = value.map(JSONValue.bool) }
    set("path", path)
    set("mode", mode)
    set("format", format)
    set("width", width)
    set("height", height)
    set("fit", fit)
    set("crop", crop)
    set("background", background)
    set("enlarge", enlarge)
    set("quality", quality)
    set("effort", effort)
    set("progressive", progressive)
    set("lossless", lossless)
    set("compression", compression)
    set("palette", palette)
    set("maxBytes", maxBytes)
    object["metadata"] = metadata.map { .array($0.map(JSONValue.string)) }
    set("colours", colours)
    set("animated", animated)
    return object
  }
}

extension Configuration {
  /// Returns the problems with presets: those that fail every output that only adds what such a preset leaves open.
  package func presetProblems() -> [ConfigurationProblem] {
    imagePresets.sorted { $0.key < $1.key }.compactMap { name, preset in
      problem(of: preset, name).map { message in
        let section = "ImagePreset \(name)"
        return ConfigurationProblem(section: section, at: sectionPlaces[section], message)
      }
    }
  }

  private func problem(of preset: ImagePreset, _ name: String) -> String? {
    var first: String?
    // A path that can't be parsed is reported below.
    let hasFormat = preset.format != nil || preset.path.flatMap { try? OutputPath($0) }?.format != nil
    // Without a format of its own it has to do for one at least.
    let formats: [ImageFormat?] = hasFormat ? [nil] : ImageFormat.writable
    for format in formats {
      var output: JSONObject = ["preset": .string(name)]
      if preset.path == nil { output["store"] = .object(JSONObject()) }
      if preset.width == nil { output["width"] = 100 }
      if preset.height == nil { output["height"] = 100 }
      if let format { output["format"] = .string(format.rawValue) }
      guard let problem = problem(of: .object(output)) else { return nil }
      first = first ?? problem
    }
    return first
  }

  private func problem(of output: JSONValue) -> String? {
    do throws(JobFileError) {
      let arguments = try ImageOutputArguments(output, path: "", presets: imagePresets, title: nil)
      do throws(ImageError) {
        try ImageRequest(outputs: [arguments.picture]).validate()
        return nil
      } catch {
        // There is one output only, so its number says nothing.
        return error.message.split(separator: ": ", maxSplits: 1).last.map(String.init)
      }
    } catch {
      return (error.key.map { "\($0) " } ?? "") + error.message
    }
  }
}
