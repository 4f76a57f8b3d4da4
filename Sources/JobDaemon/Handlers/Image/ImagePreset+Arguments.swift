import Configuration
import JSONText

extension Configuration.ImagePreset {
  /// What the preset says, as an output of a job would say it.
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
