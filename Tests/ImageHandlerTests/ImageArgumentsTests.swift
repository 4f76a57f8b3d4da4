import Configuration
import ImageProtocol
import JSONText
import Jobs
import Testing

@testable import ImageHandler

@Suite("Arguments of image.encode")
struct ImageArgumentsTests {
  private func arguments(_ outputs: String, _ configuration: String = "") throws -> ImageEncodeArguments {
    let text = #"{"input": "in.jpg", "outputs": [\#(outputs)]}"#
    return try ImageEncodeArguments(
      JSONValue(parsing: Array(text.utf8), dialect: .json5),
      presets: try Configuration.parse(configuration).imagePresets)
  }

  private func refusal(_ outputs: String, _ configuration: String = "") -> String {
    let error = #expect(throws: JobFileError.self) { _ = try arguments(outputs, configuration) }
    return error.map { "\($0)" } ?? ""
  }

  @Test("A picture may take three times as long by the clock as in processor time")
  func clocks() throws {
    let settings = try Configuration.parse("[Image]\nTimeoutSec=10s").image
    #expect(ImageHelperConfiguration(settings, helperPath: "bobbin-image").wallClockLimit == .seconds(30))
  }

  @Test("The words of the configuration are those of job files")
  func words() {
    #expect(ImageWords.readable == ImageFormat.allCases.map(\.rawValue))
    #expect(ImageWords.writable == ImageFormat.writable.map(\.rawValue))
    #expect(ImageWords.fits == ImageFit.allCases.map(\.rawValue))
    #expect(ImageWords.crops == ImageCrop.allCases.map(\.rawValue))
    #expect(ImageWords.metadata == ["none"] + ImageMetadata.allCases.map(\.rawValue))
    #expect(ImageWords.colours == ImageOutputArguments.ColourWord.allCases.map(\.rawValue))
    #expect(Configuration().image.inputFormats == ImageFormat.allowedByDefault.map(\.rawValue))
  }

  private static let preset = """
    [ImagePreset card]
    Path=cards/{name}.{format}
    Mode=640
    Format=jpeg
    Width=300
    Height=200
    Fit=cover
    Crop=attention
    Background=#102030
    Enlarge=yes
    Quality=70
    Progressive=yes
    MaxBytes=20K
    Metadata=icc copyright
    Colours=keep
    """

  @Test("A preset says what the output leaves open")
  func preset() throws {
    let output = try #require(try arguments(#"{"preset": "card"}"#, Self.preset).outputs.first)
    #expect(output.path?.text == "cards/{name}.{format}" && output.mode == 0o640)
    #expect(
      output.picture
        == ImageOutput(
          format: .jpeg, width: 300, height: 200, fit: .cover, crop: .attention,
          background: ImageColour(red: 16, green: 32, blue: 48), enlarge: true, quality: 70, isProgressive: true,
          maxBytes: 20 << 10, metadata: [.icc, .copyright], keepsColours: true))
    let more = "[ImagePreset a]\nFormat=png\nPalette=yes\nEffort=3\nCompression=9\n[ImagePreset b]\nFormat=webp\n"
    let others = try arguments(
      #"{"preset": "a", "path": "a"}, {"preset": "b", "path": "b"}"#, more + "Lossless=yes\nAnimated=yes")
    #expect(
      others.outputs.map(\.picture) == [
        ImageOutput(format: .png, effort: 3, compression: 9, hasPalette: true),
        ImageOutput(format: .webp, isLossless: true, isAnimated: true),
      ])
  }

  @Test(
    "What a preset leaves to jobs is no problem",
    arguments: [
      "Fit=cover\nCrop=entropy", "Quality=3", "Effort=9", "Width=9\nFit=pad", "Palette=yes", "Animated=yes",
      "MaxBytes=9", "Background=transparent",
    ])
  func partialPreset(_ text: String) throws {
    #expect(try Configuration.parse("[ImagePreset a]\n\(text)\n").presetProblems() == [])
  }

  @Test("The output's own keys go before the preset's, and null takes one back")
  func overrides() throws {
    let output = try #require(
      try arguments(
        #"{"preset": "card", "path": "a.webp", "width": 9, "crop": null, "progressive": null, "format": null}"#,
        Self.preset
      )
      .outputs.first)
    #expect(output.picture.format == .webp && output.picture.width == 9 && output.picture.height == 200)
    #expect(output.picture.crop == nil && !output.picture.isProgressive)
  }

  @Test("An unknown preset is refused with the nearest one")
  func unknownPreset() {
    #expect(
      refusal(#"{"preset": "crad", "path": "a.png"}"#, Self.preset)
        == #""arguments.outputs.0.preset": there is no preset "crad" ([ImagePreset] in the configuration); "#
        + #"there are card; did you mean "card"?"#)
    #expect(refusal(#"{"preset": "card", "path": "a.png"}"#).hasSuffix("none is configured"))
  }

  @Test(
    "What makes no sense is refused by name",
    arguments: [
      (#"{"path": "a"}"#, "arguments.outputs.0.format\": is missing, and the path has no known ending"),
      (#"{"format": "png"}"#, "arguments.outputs.0.path\": is missing; an output without a path is kept as an object"),
      (#"{"path": "{nam}.png"}"#, "has a brace that begins no placeholder; there are {name}, {width}, {height}"),
      (#"{"path": "{width}/a.png"}"#, "has {width} in a folder's name; only the last part of a path can have"),
      (#"{"path": "a.png", "mode": "888"}"#, "must be permission bits from"),
      (##"{"path": "a.png", "background": "#12345g"}"##, "must be #rrggbb, #rrggbbaa, white"),
      (#"{"path": "a.png", "metadata": ["icc", "gps"]}"#, "must be none, or some of all, icc, copyright"),
      (#"{"path": "a.jpg", "maxBytes": "60 kB"}"#, "must be a number of bytes from 1 to"),
      (#"{"path": "a.png", "qualty": 3}"#, "did you mean \"quality\"?"),
      (#"{"path": "a.png", "quality": 3}"#, "output 1: quality has no meaning for PNG"),
      (#"{"path": "a.png"}, {"path": "a.png"}"#, "arguments.outputs.1.path\": is the path of an earlier output"),
      (
        ##"{"path": "a.jpg", "background": "#ff000080"}"##,
        "output 1: JPEG is always opaque, and background is #ff000080"
      ),
      (#"{"path": "{{.png"}, {"path": "{{.png"}"#, "arguments.outputs.1.path\": is the path of an earlier output"),
      (#"{"path": "a.png", "format": "svg"}"#, "must be one of jpeg, png, webp, avif, heif, tiff, gif"),
    ])
  func refused(_ outputs: String, _ message: String) {
    #expect(refusal(outputs).contains(message), "\(refusal(outputs))")
  }

  @Test("The largest size is a number of bytes, or a text as in the configuration", arguments: ["61440", "\"60K\""])
  func maxBytes(_ value: String) throws {
    let output = try #require(try arguments(#"{"path": "a.jpg", "maxBytes": \#(value)}"#).outputs.first)
    #expect(output.picture.maxBytes == 60 << 10)
  }

  @Test(
    "A preset that every output would fail with is a mistake of the configuration",
    arguments: [
      ("Crop=attention", "crop has a meaning with fit \"cover\" only"),
      ("Format=png\nQuality=80", "quality has no meaning for PNG without a palette"),
      ("Path=/x/{nmae}.png", "path has a brace that begins no placeholder"),
      ("Path=/x/a.png\nProgressive=yes\nQuality=3", "quality has no meaning for PNG"),
      ("Palette=yes\nLossless=yes", "lossless"),
      ("Format=jpeg\nBackground=transparent", "JPEG is always opaque, and background is #ffffff00"),
      ("Crop=entropy\nFit=cover\nAnimated=yes", "crop of a moving picture can be \"centre\" only"),
    ])
  func badPreset(_ lines: String, _ message: String) throws {
    let configuration = try Configuration.parse("[ImagePreset bad]\n\(lines)\n\(Self.preset)")
    let problems = configuration.presetProblems().map(\.description)
    #expect(problems.count == 1)
    #expect(problems.first?.hasPrefix("bobbin.conf:1: [ImagePreset bad]: ") == true)
    #expect(problems.first?.contains(message) == true, "\(problems)")
  }

  @Test(
    "A default that is written out makes no difference to what is reused",
    arguments: [
      (#"{"path": "a.webp"}"#, #"{"path": "b.webp", "quality": 80}"#),
      (#"{"path": "a.avif"}"#, #"{"path": "b.avif", "quality": 50, "lossless": false, "fit": "inside"}"#),
      (#"{"path": "a.jpg", "maxBytes": "9K"}"#, #"{"path": "b.jpg", "maxBytes": 9216, "quality": 80}"#),
      (#"{"path": "a.jpg"}"#, #"{"path": "b.jpg", "background": "white", "store": {}, "metadata": "none"}"#),
      (#"{"path": "a.webp"}"#, #"{"path": "b.webp", "background": "transparent", "colours": "srgb"}"#),
      (#"{"path": "a.png"}"#, #"{"path": "b.png", "compression": 6, "lossless": true}"#),
      (#"{"path": "a.png", "palette": true}"#, #"{"path": "b.png", "palette": true, "quality": 100}"#),
      (#"{"path": "a.tif", "maxBytes": "9K"}"#, #"{"path": "b.tif", "maxBytes": "9K", "quality": 80}"#),
      (
        #"{"path": "a.gif", "width": 9, "height": 9, "fit": "cover"}"#,
        #"{"path": "b.gif", "width": 9, "height": 9, "fit": "cover", "crop": "centre"}"#
      ),
      (
        #"{"path": "a.png", "metadata": ["copyright", "icc"]}"#,
        #"{"path": "b.png", "metadata": ["icc", "copyright", "icc"]}"#
      ),
      (#"{"path": "a.png", "metadata": "all"}"#, #"{"path": "b.png", "metadata": ["icc", "all"]}"#),
      (#"{"path": "a.png", "colours": "keep"}"#, #"{"path": "b.png", "colours": "keep", "metadata": "icc"}"#),
    ])
  func sameEffect(_ one: String, _ other: String) throws {
    let pictures = try arguments("\(one), \(other)").outputs.map(\.picture)
    #expect(pictures[0] != pictures[1] && pictures[0].normalized == pictures[1].normalized)
    #expect(pictures[0].normalized == pictures[0].normalized.normalized)
  }

  @Test(
    "What makes another picture is not reused",
    arguments: [
      (#"{"path": "a.webp"}"#, #"{"path": "b.webp", "quality": 79}"#),
      (#"{"path": "a.avif"}"#, #"{"path": "b.avif", "quality": 80}"#),
      (#"{"path": "a.webp"}"#, #"{"path": "b.webp", "lossless": true}"#),
      (#"{"path": "a.webp"}"#, #"{"path": "b.webp", "background": "white"}"#),
      (
        #"{"path": "a.png", "width": 9, "height": 9, "fit": "pad"}"#,
        #"{"path": "b.png", "width": 9, "height": 9, "fit": "pad", "background": "transparent"}"#
      ),
      (#"{"path": "a.tif"}"#, #"{"path": "b.tif", "quality": 80}"#),
      (#"{"path": "a.png"}"#, #"{"path": "b.png", "metadata": "icc"}"#),
      (#"{"path": "a.png", "metadata": "icc"}"#, #"{"path": "b.png", "colours": "keep"}"#),
    ])
  func otherEffect(_ one: String, _ other: String) throws {
    let pictures = try arguments("\(one), \(other)").outputs.map(\.picture)
    #expect(pictures[0].normalized != pictures[1].normalized)
  }

  @Test("Outputs go to files, to objects, or to both")
  func destinations() throws {
    let outputs = try arguments(
      #"{"path": "a.png"}, {"format": "png", "store": {}}, {"path": "b.png", "store": {"title": "B"}}"#
    ).outputs
    #expect(outputs.map(\.storedTitle) == [nil, "", "B"])
    #expect(outputs.map(\.picture.fileCount) == [1, 1, 2])
  }

  @Test("Placeholders in a path's last part are filled in; doubled braces stand for themselves")
  func paths() throws {
    let values: (OutputPath.Placeholder) -> String = { "<\($0.rawValue)>" }
    for (text, filled) in [
      ("a.png", "a.png"), ("/x/{y}/a.png", "/x/{y}/a.png"),
      ("/x/{name}-{width}x{height}.{format}", "/x/<name>-<width>x<height>.<format>"),
      ("{preset}{sha256}", "<preset><sha256>"), ("{{name}}.png", "{name}.png"), ("", ""),
    ] {
      #expect(try OutputPath(text).filled(values) == filled)
    }
    #expect(try OutputPath("a/{name}.JPG").format == .jpeg)
    #expect(try OutputPath("a/{{name}}.tif").fixed == "a/{name}.tif" && OutputPath("{name}").fixed == nil)
    #expect(try OutputPath("a/b.{format}").format == nil)
  }
}
