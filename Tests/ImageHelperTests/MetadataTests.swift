import Foundation
import ImageProtocol
import Testing

@Suite("What pictures say about themselves", .timeLimit(.minutes(10)))
struct MetadataTests {
  private static let artist = "Jörg Müller (Studio)"
  private static let copyright = "© 2026 Jörg Müller (Studio), (all)"

  @Test("Artist and copyright are kept byte for byte", arguments: ["jpg", "png", "webp", "tif"])
  func authorship(_ suffix: String) async throws {
    let bench = try Workbench()
    let input = bench.path("in.\(suffix)")
    try await Tool.run("vips", "thumbnail", Workbench.photograph("Wood"), input + "[strip]", "120")
    let tags = suffix == "tif" ? "IFD0" : "EXIF"
    try await Tool.run(
      "exiftool", "-overwrite_original", "-\(tags):Copyright=\(Self.copyright)", "-\(tags):Artist=\(Self.artist)",
      "-\(tags):Make=Box", input)
    let formats: [ImageFormat] = [.jpeg, .png, .webp, .avif]
    let request = ImageRequest(outputs: formats.map { ImageOutput(format: $0, width: 60, metadata: [.copyright]) })
    _ = try await bench.encode(input, request)
    for (index, format) in formats.enumerated() {
      let file = bench.path(String(index))
      let found = try await Tool.header(file)
      #expect(found["exif-ifd0-Copyright"]?.hasPrefix(Self.copyright + " (") == true, "\(format): \(found)")
      #expect(found["exif-ifd0-Artist"]?.hasPrefix(Self.artist + " (") == true && found["exif-ifd0-Make"] == nil)
      if format == .avif { continue }
      #expect(try await Tool.run("exiftool", "-s3", "-Copyright", file) == Self.copyright + "\n")
      #expect(try await Tool.run("exiftool", "-s3", "-Artist", file) == Self.artist + "\n")
    }
    await bench.close()
  }

  @Test("A thumbnail in the EXIF data, which shows what was cut away, is not kept")
  func thumbnail() async throws {
    let bench = try Workbench()
    let (input, small) = (bench.path("in.jpg"), bench.path("small.jpg"))
    try await Tool.run("vips", "thumbnail", Workbench.photograph("Wood"), input + "[strip]", "320")
    try await Tool.run("vips", "thumbnail", input, small + "[strip]", "80")
    try await Tool.run(
      "exiftool", "-overwrite_original", "-EXIF:Make=Box", "-ThumbnailImage<=\(small)", input)
    try #require(try await Tool.run("exiftool", "-ThumbnailImage", input).contains("Binary data"))
    let cut = ImageOutput(format: .jpeg, width: 50, height: 50, fit: .cover, metadata: [.all])
    _ = try await bench.encode(input, ImageRequest(outputs: [cut]))
    #expect(try await Tool.run("exiftool", "-s3", "-Make", bench.path("0")) == "Box\n")
    #expect(try await Tool.run("exiftool", "-ThumbnailImage", bench.path("0")) == "")
    await bench.close()
  }

  @Test("A picture without artist and copyright gets none, and broken EXIF data is no reason to fail")
  func noAuthorship() async throws {
    let bench = try Workbench()
    let plain = bench.path("in.jpg")
    try await Tool.run("vips", "thumbnail", Workbench.photograph("Wood"), plain + "[strip]", "120")
    var bytes = [UInt8](try Data(contentsOf: URL(filePath: plain)))
    let exif = Array("Exif\0\0II*\0".utf8) + [8, 0, 0, 0, 2, 0, 0x98, 0x82, 2, 0, 255, 255, 0, 0, 99, 99, 0, 0]
    bytes.insert(contentsOf: [0xFF, 0xE1, 0, UInt8(exif.count + 2)] + exif, at: 2)
    for input in [plain, try bench.file("broken.jpg", bytes)] {
      let request = ImageRequest(outputs: [ImageOutput(format: .jpeg, metadata: [.copyright])])
      _ = try await bench.encode(input, request)
      #expect(try await Tool.header(bench.path("0"))["exif-ifd0-Copyright"] == nil)
    }
    await bench.close()
  }

  @Test("A WebP and a placeholder have no EXIF data that nobody asked for", arguments: [true, false])
  func noInventedData(_ hasData: Bool) async throws {
    let bench = try Workbench()
    let (plain, input) = (bench.path("plain.jpg"), bench.path("in.jpg"))
    try await Tool.run("vips", "thumbnail", Workbench.photograph("Wood"), plain + "[strip]", "120")
    try await Tool.run(
      "vips", "icc_transform", plain, input + (hasData ? "" : "[strip]"), "p3", "--input-profile", "srgb")
    try await Tool.run("exiftool", "-overwrite_original", "-XMP:Title=Planks", input)
    if hasData { try await Tool.run("exiftool", "-overwrite_original", "-EXIF:Make=Box", input) }
    let outputs = [
      ImageOutput(format: .webp), ImageOutput(format: .webp, isLossless: true),
      ImageOutput(format: .webp, maxBytes: 1 << 20), ImageOutput(format: .webp, metadata: [.icc]),
      ImageOutput(format: .webp, keepsColours: true), ImageOutput(format: .webp, metadata: [.copyright]),
      ImageOutput(format: .webp, metadata: [.all]),
    ]
    let reply = try await bench.encode(input, ImageRequest(outputs: outputs, wantsPlaceholder: true))
    for (index, output) in outputs.enumerated() {
      let (file, all) = (bench.path(String(index)), output.metadata == [.all])
      let parts = try await Tool.run("webpinfo", file)
      #expect(parts.contains("No error detected") && !parts.contains("Warning"), "\(output): \(parts)")
      #expect(parts.contains("Chunk EXIF") == (hasData && all), "\(output): \(parts)")
      #expect(parts.contains("Chunk XMP") == all, "\(output): \(parts)")
      #expect(try await Tool.run("exiftool", "-s3", "-XMP:Title", file) == (all ? "Planks\n" : ""))
      if hasData {
        let keepsProfile = all || output.metadata == [.icc] || output.keepsColours
        #expect(parts.contains("Chunk ICCP") == keepsProfile, "\(output): \(parts)")
      }
      #expect(try await Tool.header(file)["width"] == "120")
    }
    #expect(reply.outputs[0].sha256 == reply.outputs[2].sha256)
    let picture = try #require(reply.placeholder?.picture.split(separator: ",").last)
    let tiny = try bench.file("tiny.webp", try #require(Data(base64Encoded: String(picture))))
    let parts = try await Tool.run("webpinfo", tiny)
    #expect(parts.contains("No error detected") && !parts.contains("Chunk EXIF"), "\(parts)")
    #expect(try await Tool.header(tiny)["width"] == "16")
    await bench.close()
  }

  @Test("What is called all is kept as the documentation says for each format", arguments: ["jpg", "tif", "png"])
  func all(_ suffix: String) async throws {
    let bench = try Workbench()
    let (plain, input) = (bench.path("plain.\(suffix)"), bench.path("in.\(suffix)"))
    try await Tool.run("vips", "thumbnail", Workbench.photograph("Wood"), plain + "[strip]", "120")
    try await Tool.run("vips", "icc_transform", plain, input, "p3", "--input-profile", "srgb")
    let tags = suffix == "tif" ? "IFD0" : "EXIF"
    let comment = suffix == "png" ? "PNG:Comment" : "Comment"
    var arguments = ["-\(tags):Make=Box", "-\(tags):Artist=Ann", "-XMP:Title=Planks"]
    if suffix != "png" { arguments.append("-IPTC:Keywords=wood") }
    if suffix != "tif" { arguments.append("-\(comment)=hello") }
    for argument in arguments { try await Tool.run("exiftool", "-m", "-overwrite_original", argument, input) }
    let formats = ImageFormat.writable
    let request = ImageRequest(outputs: formats.map { ImageOutput(format: $0, metadata: [.all], keepsColours: true) })
    _ = try await bench.encode(input, request)
    for (index, format) in formats.enumerated() {
      let file = bench.path(String(index))
      let tag = { (name: String) in try await Tool.run("exiftool", "-q", "-q", "-s3", "-\(name)", file) != "" }
      let (hasEXIF, hasAny) = (![.tiff, .gif].contains(format), format != .gif)
      #expect(try await tag("Artist") == hasEXIF, "\(format)")
      #expect(try await tag("Make") == (hasEXIF && suffix != "tif"), "\(format)")
      #expect(try await tag("XMP:Title") == hasAny, "\(format)")
      #expect(try await tag("ProfileDescription") == hasAny, "\(format)")
      #expect(try await tag("IPTC:Keywords") == (format == .jpeg && suffix == "jpg"), "\(format)")
      #expect(try await tag("Comment") == (format == .png && suffix == "png"), "\(format)")
      #expect(try await !Tool.run("exiftool", "-Warning", file).contains("IPTC"))
      #expect(try await !Tool.run("exiftool", "-v3", file).contains("APP13") || suffix == "jpg")
    }
    await bench.close()
  }

  /// Profiles of Debian's colord-data: those of other colours mention sRGB in their texts, too.
  static let profileNames = ["AppleRGB", "ColorMatchRGB", "PAL-RGB", "Rec709", "AdobeRGB1998", "SMPTE-C-RGB", "sRGB"]

  @Test("Colours are converted by what the profile says of them, whatever its texts mention", arguments: profileNames)
  func profiles(_ name: String) async throws {
    let bench = try Workbench()
    let profile = "/usr/share/color/icc/colord/\(name).icc"
    try await Tool.run("convert", "-size", "32x32", "xc:#c86432", "-define", "png:color-type=2", bench.path("flat.png"))
    try await Tool.run("vips", "copy", bench.path("flat.png"), bench.path("in.png") + "[profile=\(profile)]")
    let wanted = bench.path("wanted.png")
    try await Tool.run("vips", "icc_transform", bench.path("in.png"), wanted, "srgb", "--embedded")
    let input = bench.path("in.png")
    _ = try await bench.encode(input, ImageRequest(outputs: [ImageOutput(format: .png)]))
    let (found, expected, raw) = try await (
      pixel(bench.path("0")), pixel(wanted), pixel(input)
    )
    for (one, other) in zip(found, expected) { #expect(abs(one - other) <= 2, "\(found) \(expected)") }
    #expect((found == raw) == (name == "sRGB"))
    await bench.close()
  }

  @Test("Colours that are those of sRGB already stay as they are, by the profile")
  func screenProfile() async throws {
    let bench = try Workbench()
    let input = bench.path("in.png")
    try await Tool.run("vips", "thumbnail", Workbench.photograph("Wood"), bench.path("a.png") + "[strip]", "120")
    try await Tool.run("vips", "copy", bench.path("a.png"), input + "[profile=srgb]")
    _ = try await bench.encode(input, ImageRequest(outputs: [ImageOutput(format: .png)]))
    try await Tool.run("vips", "subtract", input, bench.path("0"), bench.path("difference.v"))
    #expect(try await Double(Tool.run("vips", "max", bench.path("difference.v")).split(separator: "\n")[0]) == 0)
    #expect(try await Double(Tool.run("vips", "min", bench.path("difference.v")).split(separator: "\n")[0]) == 0)
    await bench.close()
  }

  private func pixel(_ path: String) async throws -> [Int] {
    try await Tool.run("vips", "getpoint", path, "5", "5")
      .split(whereSeparator: \.isWhitespace).compactMap { Double($0).map { Int($0) } }
  }
}
