import Foundation
import ImageProtocol
import SystemSupport
import Testing

/// Each option, on real files, as another program sees its effect.
@Suite("Options of outputs", .timeLimit(.minutes(10)))
struct OptionTests {
  private let bench: Workbench

  init() throws { bench = try Workbench() }

  /// Encodes into the files `0`, `1` ... and ends the helpers.
  private func encode(_ input: String, _ outputs: ImageOutput...) async throws -> ImageReply {
    try await bench.encode(input, ImageRequest(outputs: outputs))
  }

  private func pixel(_ name: String, _ x: Int, _ y: Int) async throws -> [Int] {
    let text = try await Tool.run("vips", "getpoint", bench.path(name), "\(x)", "\(y)")
    return text.split(whereSeparator: \.isWhitespace).compactMap { Double($0).map { Int($0) } }
  }

  /// The mean and the largest difference of two pictures' samples.
  private func difference(_ one: String, _ other: String) async throws -> (mean: Double, most: Double) {
    try await Tool.run("vips", "subtract", one, other, bench.path("signed.v"))
    try await Tool.run("vips", "abs", bench.path("signed.v"), bench.path("difference.v"))
    let most = try await Tool.run("vips", "max", bench.path("difference.v"))
    let mean = try await Tool.average(bench.path("difference.v"))
    return (mean, try #require(Double(most.trimmingCharacters(in: .whitespacesAndNewlines))))
  }

  /// A photograph, 320 pixels wide, without metadata.
  private func small(_ name: String = "in.png") async throws -> String {
    try await Tool.run("vips", "thumbnail", Workbench.photograph("Wood"), bench.path(name) + "[strip]", "320")
    return bench.path(name)
  }

  @Test(
    "What no picture can be made by is refused before one is opened",
    arguments: [
      (ImageOutput(format: .png, width: 0), "width is 0; it must lie between 1 and "),
      (ImageOutput(format: .png, quality: 80), "quality has no meaning for PNG without a palette; leave it out"),
      (ImageOutput(format: .jpeg, isLossless: true), "JPEG is never lossless; leave it out"),
      (
        ImageOutput(format: .webp, width: 9, height: 9, fit: .cover, crop: .entropy, isAnimated: true),
        "crop of a moving picture can be \"centre\" only"
      ),
    ])
  func senseless(output: ImageOutput, reason: String) {
    let error = #expect(throws: ImageError.self) { try ImageRequest(outputs: [output]).validate() }
    #expect(error.map { "\($0)".contains(reason) } == true, "\(error.map { "\($0)" } ?? "")")
  }

  @Test("Sides are rounded to the next pixel and never vanish")
  func rounding() async throws {
    let bar = bench.path("bar.png")
    try await Tool.run("vips", "black", bar, "1000", "3", "--bands", "3")
    let photograph = try await small()
    let reply = try await encode(bar, ImageOutput(format: .png, width: 10), ImageOutput(format: .png, width: 500))
    #expect(reply.outputs.map { [$0.width, $0.height] } == [[10, 1], [500, 2]])
    // 320 x 240, at a height of 97: 129.3 wide; at one of 98: 130.7.
    let sizes = try await encode(
      photograph, ImageOutput(format: .png, height: 97), ImageOutput(format: .png, height: 98))
    #expect(sizes.outputs.map { [$0.width, $0.height] } == [[129, 97], [131, 98]])
    await bench.close()
  }

  @Test("A side beyond a format's longest is refused, whichever it is", arguments: [true, false])
  func longestSide(isWide: Bool) async throws {
    let long = bench.path("long.png")
    try await Tool.run("vips", "black", long, isWide ? "16384" : "8", isWide ? "8" : "16384", "--bands", "3")
    let error = try await bench.failure(long, ImageRequest(outputs: [ImageOutput(format: .webp)]))
    #expect(error.code == .tooLarge && error.message.contains("side ends at 16383"), "\(error)")
    #expect(try await encode(long, ImageOutput(format: .png)).outputs.first?.width == (isWide ? 16_384 : 8))
    await bench.close()
  }

  @Test("A cut keeps the centre, what catches the eye, or what has most detail")
  func crop() async throws {
    // Black, with noise at the right and a red patch at the left end.
    try await Tool.run("vips", "black", bench.path("black.v"), "600", "100", "--bands", "3")
    try await Tool.run("vips", "gaussnoise", bench.path("noise.v"), "100", "100", "--mean", "128", "--sigma", "60")
    try await Tool.run(
      "vips", "bandjoin", "\(bench.path("noise.v")) \(bench.path("noise.v")) \(bench.path("noise.v"))",
      bench.path("noise3.v"))
    try await Tool.run("vips", "insert", bench.path("black.v"), bench.path("noise3.v"), bench.path("a.v"), "500", "0")
    try await Tool.run("vips", "cast", bench.path("a.v"), bench.path("b.v"), "uchar")
    try await Tool.run("vips", "copy", bench.path("b.v"), bench.path("noisy.png"), "--interpretation", "srgb")
    try await Tool.run(
      "convert", "-size", "600x100", "xc:black", "-fill", "#e08060", "-draw", "circle 50,50 50,80",
      bench.path("patch.png"))
    let box = { (crop: ImageCrop) in ImageOutput(format: .png, width: 100, height: 100, fit: .cover, crop: crop) }
    _ = try await encode(bench.path("noisy.png"), box(.centre), box(.entropy))
    #expect(try await Tool.average(bench.path("0")) < 1)
    #expect(try await Tool.average(bench.path("1")) > 100)
    _ = try await encode(bench.path("patch.png"), box(.attention), box(.centre))
    #expect(try await Tool.average(bench.path("0")) > 20)
    #expect(try await Tool.average(bench.path("1")) < 1)
    for name in ["0", "1"] {
      let header = try await Tool.header(bench.path(name))
      #expect(header["width"] == "100" && header["height"] == "100")
    }
    await bench.close()
  }

  @Test("Padding fills the box with the background's colour, opaque or not", arguments: ImageFormat.writable)
  func pad(_ format: ImageFormat) async throws {
    let colour = ImageColour(red: 200, green: 40, blue: 80)
    let isOpaque = format == .jpeg
    let reply = try await encode(
      try await small(),
      ImageOutput(format: format, width: 320, height: 320, fit: .pad, background: colour),
      ImageOutput(format: format, width: 400, height: 400, fit: .pad),
      ImageOutput(
        format: format, width: 320, height: 300, fit: .pad, background: isOpaque ? nil : ImageColour("transparent")))
    #expect(reply.outputs.map { [$0.width, $0.height] } == [[320, 320], [400, 400], [320, 300]])
    for (difference, value) in zip(try await pixel("0", 160, 3), [200, 40, 80]) {
      #expect(abs(difference - value) < 8, "\(format)")
    }
    #expect(try await pixel("1", 3, 3).prefix(3).allSatisfy { $0 > 250 })
    let corner = try await pixel("2", 3, 3)
    #expect(isOpaque ? corner.count == 3 && corner.allSatisfy { $0 > 250 } : corner.count == 4 && corner[3] == 0)
    await bench.close()
  }

  @Test("A background goes behind transparent parts where one is given")
  func background() async throws {
    try await Tool.run("convert", "-size", "64x64", "xc:none", "PNG32:" + bench.path("clear.png"))
    let green = ImageColour(red: 0, green: 255, blue: 0)
    _ = try await encode(
      bench.path("clear.png"), ImageOutput(format: .png, background: green),
      ImageOutput(format: .jpeg, background: green), ImageOutput(format: .png))
    #expect(try await pixel("0", 5, 5) == [0, 255, 0])
    let filled = try await pixel("1", 5, 5)
    #expect(filled[1] > 250 && filled[0] < 5)
    #expect(try await pixel("2", 5, 5).last == 0)
    await bench.close()
  }

  @Test("Progressive pictures are written in passes", arguments: [ImageFormat.jpeg, .png, .gif])
  func progressive(_ format: ImageFormat) async throws {
    _ = try await encode(
      try await small(), ImageOutput(format: format, isProgressive: true), ImageOutput(format: format))
    let names = try await [
      Tool.run("identify", "-format", "%[interlace]", bench.path("0")),
      Tool.run("identify", "-format", "%[interlace]", bench.path("1")),
    ]
    #expect(names[0] != "None" && names[1] == "None", "\(names)")
    await bench.close()
  }

  @Test("Lossless pictures have the input's pixels; AVIF and HEIF may be off by one")
  func lossless() async throws {
    let input = try await small()
    let formats: [ImageFormat] = [.webp, .tiff, .png, .avif, .heif]
    _ = try await bench.encode(
      input, ImageRequest(outputs: formats.map { ImageOutput(format: $0, isLossless: true) }))
    for (index, format) in formats.enumerated() {
      let (_, most) = try await difference(input, bench.path(String(index)))
      #expect(most <= ([.avif, .heif].contains(format) ? 1 : 0), "\(format)")
    }
    #expect(try await Tool.run("webpinfo", bench.path("0")).contains("Lossless"))
    await bench.close()
  }

  @Test(
    "More effort makes a smaller file, or one that differs", arguments: [ImageFormat.webp, .avif, .gif])
  func effort(_ format: ImageFormat) async throws {
    let reply = try await encode(
      try await small(), ImageOutput(format: format, effort: 1), ImageOutput(format: format, effort: 10))
    #expect(reply.outputs[0].sha256 != reply.outputs[1].sha256)
    if format == .webp { #expect(reply.outputs[0].bytes > reply.outputs[1].bytes) }
    for name in ["0", "1"] { #expect(try await Tool.header(bench.path(name))["width"] == "320") }
    await bench.close()
  }

  @Test("PNG is compressed as much as asked, and has a palette if asked")
  func png() async throws {
    let input = try await small()
    let reply = try await encode(
      input, ImageOutput(format: .png, compression: 0), ImageOutput(format: .png, compression: 9),
      ImageOutput(format: .png, effort: 3, hasPalette: true), ImageOutput(format: .png, quality: 30, hasPalette: true))
    let sizes = reply.outputs.map(\.bytes)
    #expect(sizes[0] > 320 * 240 * 3 && sizes[1] < sizes[0] && sizes[2] < sizes[1] && sizes[3] < sizes[2])
    #expect(try await difference(input, bench.path("1")).most == 0)
    #expect(try await Tool.run("exiftool", "-s3", "-ColorType", bench.path("1")).hasPrefix("RGB"))
    #expect(try await Tool.run("exiftool", "-s3", "-ColorType", bench.path("2")).hasPrefix("Palette"))
    await bench.close()
  }

  @Test("TIFF loses nothing unless a quality is asked for")
  func tiff() async throws {
    let input = try await small()
    _ = try await encode(input, ImageOutput(format: .tiff), ImageOutput(format: .tiff, quality: 60))
    #expect(try await difference(input, bench.path("0")).most == 0)
    #expect(try await Tool.run("exiftool", "-s3", "-Compression", bench.path("0")).contains("Deflate"))
    #expect(try await Tool.run("exiftool", "-s3", "-Compression", bench.path("1")).hasPrefix("JPEG"))
    await bench.close()
  }

  @Test("The quality is lowered until the file is small enough", arguments: [ImageFormat.jpeg, .webp, .avif, .heif])
  func maxBytes(_ format: ImageFormat) async throws {
    let input = try await small()
    let free = try await encode(input, ImageOutput(format: format))
    let bytes = try #require(free.outputs.first?.bytes)
    let limit = bytes * 8 / 10
    let reply = try await encode(
      input, ImageOutput(format: format, maxBytes: limit), ImageOutput(format: format, maxBytes: bytes * 2))
    let (tight, wide) = (reply.outputs[0], reply.outputs[1])
    #expect(tight.bytes <= limit && tight.bytes > limit / 2)
    let standard = [.avif, .heif].contains(format) ? 50 : 80
    let quality = try #require(tight.quality)
    #expect((1..<standard).contains(quality) && wide.quality == standard)
    #expect(wide.bytes == bytes)
    #expect(tight.sha256 == (try await Tool.sha256(bench.path("0"))))
    #expect(try await Tool.header(bench.path("0"))["width"] == "320")
    let request = ImageRequest(outputs: [ImageOutput(format: format, maxBytes: 100)])
    let error = try await bench.failure(input, request)
    #expect(error.code == .tooLarge && error.permanent && error.message.contains("bytes even at quality 1"))
    await bench.close()
  }

  @Test("A palette's quality is searched, too")
  func maxBytesOfPalette() async throws {
    let input = try await small()
    let free = try await encode(input, ImageOutput(format: .png, hasPalette: true))
    let limit = try #require(free.outputs.first?.bytes) * 8 / 10
    let reply = try await encode(input, ImageOutput(format: .png, hasPalette: true, maxBytes: limit))
    #expect(try #require(reply.outputs.first?.bytes) <= limit)
    await bench.close()
  }

  @Test("Of the metadata stays what is asked for", arguments: [ImageFormat.jpeg, .png, .webp, .avif])
  func metadata(_ format: ImageFormat) async throws {
    let input = try await small("in.jpg")
    try await Tool.run("vips", "copy", input, bench.path("p3.jpg") + "[profile=p3]")
    try await Tool.run(
      "exiftool", "-overwrite_original", "-EXIF:Copyright=Ann 2026", "-EXIF:Artist=Ann", "-EXIF:Make=Box",
      "-XMP:Title=Planks", bench.path("p3.jpg"))
    let kept: [[ImageMetadata]] = [[], [.icc], [.copyright], [.icc, .copyright], [.all]]
    _ = try await bench.encode(
      bench.path("p3.jpg"), ImageRequest(outputs: kept.map { ImageOutput(format: format, metadata: $0) }))
    for (index, kept) in kept.enumerated() {
      let file = bench.path(String(index))
      let exif = try await Tool.header(file)
      let all = kept == [.all]
      #expect(
        (exif["exif-ifd0-Copyright"]?.hasPrefix("Ann 2026") == true) == (all || kept.contains(.copyright)), "\(kept)")
      #expect((exif["exif-ifd0-Make"] != nil) == all, "\(kept)")
      #expect((exif["icc-profile-data"] != nil) == (all || kept.contains(.icc)), "\(kept)")
      #expect((exif["xmp-data"] != nil) == all || format == .avif, "\(kept)")
    }
    if format != .avif {
      #expect(try await Tool.run("exiftool", "-s3", "-Copyright", bench.path("2")).hasPrefix("Ann 2026"))
      #expect(try await !Tool.run("exiftool", "-s3", "-Make", bench.path("2")).contains("Box"))
    }
    await bench.close()
  }

  @Test("Colours become sRGB, or stay those of the input's profile, which then stays, too")
  func colours() async throws {
    let input = try await small()
    try await Tool.run("vips", "icc_transform", input, bench.path("p3.png"), "p3", "--input-profile", "srgb")
    _ = try await encode(
      bench.path("p3.png"), ImageOutput(format: .png), ImageOutput(format: .png, keepsColours: true),
      ImageOutput(format: .png, width: 100, keepsColours: true))
    #expect(try await difference(bench.path("p3.png"), bench.path("1")).most == 0)
    #expect(try await difference(bench.path("p3.png"), bench.path("0")).mean > 0.5)
    #expect(try await difference(input, bench.path("0")).mean < 1)
    let profile = { (name: String) in try await Tool.run("exiftool", "-s3", "-ProfileDescription", bench.path(name)) }
    let original = try await profile("p3.png")
    #expect(try await profile("1") == original && original != "")
    #expect(try await profile("2") == original)
    #expect(try await profile("0") == "")
    await bench.close()
  }

  @Test("A picture that lies on its side is left so if asked, and its tag stays if metadata is kept")
  func orientation() async throws {
    let input = try await small("in.jpg")
    try bench.insertOrientation(6, into: input)
    var request = ImageRequest(
      outputs: [ImageOutput(format: .jpeg), ImageOutput(format: .jpeg, width: 160, metadata: [.all])],
      isTurned: false)
    var reply = try await bench.encode(input, request)
    #expect(reply.input.width == 320 && reply.outputs.map(\.height) == [240, 120])
    #expect(try await Tool.header(bench.path("1"))["orientation"] == "6")
    request.isTurned = true
    reply = try await bench.encode(input, request)
    #expect(reply.input.width == 240 && reply.outputs.map(\.height) == [320, 213])
    await bench.close()
  }

  @Test("A placeholder is a tiny picture and the average colour")
  func placeholder() async throws {
    let input = Workbench.photograph("Garden")
    let request = ImageRequest(outputs: [ImageOutput(format: .webp, width: 300)], wantsPlaceholder: true)
    let placeholder = try #require(try await bench.encode(input, request).placeholder)
    let start = "data:image/webp;base64,"
    #expect(placeholder.picture.hasPrefix(start) && placeholder.picture.count < 600)
    let data = try #require(Data(base64Encoded: String(placeholder.picture.dropFirst(start.count))))
    let header = try await Tool.header(try bench.file("tiny.webp", data))
    #expect(header["vips-loader"] == "webpload" && header["width"] == "16")
    try await Tool.run("vips", "thumbnail", input, bench.path("one.png"), "1", "--height", "1", "--size", "force")
    let average = try await pixel("one.png", 0, 0)
    for (ours, theirs) in zip([placeholder.colour.red, placeholder.colour.green, placeholder.colour.blue], average) {
      #expect(abs(Int(ours) - theirs) < 10)
    }
    await bench.close()
  }

  @Test("All files of an output get the same bytes")
  func files() async throws {
    let input = try FileDescriptor.open(try await small())
    let names = ["a", "b", "c"]
    let files = try names.map { try FileDescriptor.open(bench.path($0), .creating).relinquish() }
    defer { for file in files { _ = FileDescriptor(owning: file) } }
    let outputs = [ImageOutput(format: .webp, width: 90, fileCount: 2), ImageOutput(format: .png, width: 90)]
    let reply = try await bench.pool.encode(ImageRequest(outputs: outputs), input: input.number, outputs: files)
    #expect(try await Tool.sha256(bench.path("a")) == reply.outputs[0].sha256)
    #expect(try await Tool.sha256(bench.path("b")) == reply.outputs[0].sha256)
    #expect(try await Tool.sha256(bench.path("c")) == reply.outputs[1].sha256)
    await bench.close()
  }
}
