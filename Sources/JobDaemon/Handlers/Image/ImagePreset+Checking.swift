package import Configuration
import ImageProtocol
import JSONText
import Jobs

extension Configuration {
  /// What is wrong with presets whatever the jobs say that name them, so that no job has to find out.
  ///
  /// What a preset leaves to jobs may be missing: its path, its format, and the sizes that a fit needs.
  ///
  /// - Parameter file: the name that errors give.
  package func presetProblems(file: String) -> [ConfigurationProblem] {
    imagePresets.keys.sorted().compactMap { name in
      imagePresets[name]?.problem.map {
        ConfigurationProblem(code: .invalidValue, file: file, section: "ImagePreset \(name)", message: $0)
      }
    }
  }
}

extension Configuration.ImagePreset {
  /// Why no output can be made by the preset, or nil.
  fileprivate var problem: String? {
    var output = arguments
    output["store"] = .object(JSONObject())
    if fit != nil && fit != ImageFit.inside.rawValue {
      if width == nil { output["width"] = 1 }
      if height == nil { output["height"] = 1 }
    }
    if format != nil || path.map(Self.hasFormat) == true { return Self.problem(output) }
    // The job says the format; there must be one that the rest has a meaning for.
    let problems = ImageFormat.writable.map { format in
      output["format"] = .string(format.rawValue)
      return Self.problem(output)
    }
    return problems.contains(nil) ? nil : problems.first ?? nil
  }

  private static func hasFormat(_ path: String) -> Bool { (try? OutputPath(path))?.format != nil }

  private static func problem(_ output: JSONObject) -> String? {
    do throws(JobFileError) {
      let arguments = try ImageOutputArguments(.object(output), path: "", presets: [:], title: nil)
      do throws(ImageError) {
        try ImageRequest(outputs: [arguments.picture]).validate()
        return nil
      } catch {
        return error.message.replacing("output 1: ", with: "", maxReplacements: 1)
      }
    } catch {
      return error.description
    }
  }
}
