package import Configuration
import ImageProtocol
import JSONText
import Jobs

extension Configuration {
  /// What is wrong with presets: what fails every output that says no more than such a preset leaves open.
  package func presetProblems() -> [ConfigurationProblem] {
    imagePresets.sorted { $0.key < $1.key }.compactMap { name, preset in
      problem(of: preset, name).map { message in
        ConfigurationProblem(section: "ImagePreset \(name)", at: presetPlaces[name], message)
      }
    }
  }

  private func problem(of preset: ImagePreset, _ name: String) -> String? {
    var first: String?
    // A path that can't be read is told of below.
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
