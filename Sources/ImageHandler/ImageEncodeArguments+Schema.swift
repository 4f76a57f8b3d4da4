import ImageProtocol
import JSONText
import Jobs

extension ImageEncodeArguments {
  /// The schema of the arguments, with the names of the presets that outputs may name.
  static func schema(presets: [String]) -> JSONValue {
    let kept = ArgumentSchema.described(["type": "object"], "Keeps it as an object: {\"title\": TEXT}")
    let size = ArgumentSchema.whole(in: 1...65_535)
    var output: JSONObject = [
      "path": ArgumentSchema.path, "format": ArgumentSchema.word(ImageFormat.writable.map(\.rawValue)),
      "width": size, "height": size, "fit": ArgumentSchema.word(ImageFit.allCases.map(\.rawValue)),
      "crop": ArgumentSchema.word(ImageCrop.allCases.map(\.rawValue)),
      "background": ArgumentSchema.described(ArgumentSchema.text, "#rrggbb, #rrggbbaa, white, black or transparent"),
      "enlarge": ArgumentSchema.flag, "quality": ArgumentSchema.whole(in: 1...100),
      "effort": ArgumentSchema.whole(in: 1...10), "progressive": ArgumentSchema.flag, "lossless": ArgumentSchema.flag,
      "compression": ArgumentSchema.whole(in: 0...9), "palette": ArgumentSchema.flag,
      "maxBytes": ["description": "A number of bytes, or one such as \"60K\""],
      "metadata": ["description": "\"none\", or a list of some of all, icc, copyright"],
      "colours": ArgumentSchema.word(ImageOutputArguments.ColourWord.allCases.map(\.rawValue)),
      "animated": ArgumentSchema.flag,
      "mode": ArgumentSchema.described(ArgumentSchema.text, "Permission bits such as \"640\""), "store": kept,
    ]
    if !presets.isEmpty { output["preset"] = ArgumentSchema.word(presets) }
    return ArgumentSchema.object(
      [
        "input": ArgumentSchema.path, "outputs": ArgumentSchema.list(of: ArgumentSchema.object(output)), "store": kept,
        "autoOrient": ArgumentSchema.flag, "failOn": ArgumentSchema.word(ImageFailOn.allCases.map(\.rawValue)),
        "placeholder": ArgumentSchema.flag, "reuse": ArgumentSchema.flag,
      ], required: ["input", "outputs"])
  }
}
