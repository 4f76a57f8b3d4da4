import Foundation
import ImageProtocol
import Testing

@Suite("Colours of pictures that are not of the usual kind", .timeLimit(.minutes(10)))
struct ColourTests {
  private let bench: Workbench

  init() throws { bench = try Workbench() }

  /// Red, green, blue and opacity in the middle of a picture, of 255, as ImageMagick reads it.
  private func pixel(_ path: String, _ options: [String] = []) async throws -> [Double] {
    let places = ["r", "g", "b", "a"].map { "%[fx:255*p{4,4}.\($0)]" }.joined(separator: " ")
    let text = try await Tool.run("convert", arguments: [path] + options + ["-format", places, "info:"])
    return text.split(separator: " ").compactMap { Double($0) }
  }

  private func expectAlike(
    _ found: [Double], _ wanted: [Double], within tolerance: Double, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(
      found.count == 4 && zip(found, wanted).allSatisfy { abs($0 - $1) <= tolerance }, "\(found) instead of \(wanted)",
      sourceLocation: sourceLocation)
  }

  /// A small output, two that share a decode, and one of the input's size.
  private static let sizes = [[8], [8, 12], [nil]] as [[Int?]]

  private static let toScreen = ["-intent", "relative", "-profile", "/usr/share/color/icc/colord/sRGB.icc"]

  @Test("Inks are converted by the picture's own profile", arguments: ["tif", "jpg"], [20, 0])
  func inks(_ suffix: String, _ cyan: UInt8) async throws {
    let input = bench.path("in.\(suffix)")
    let picture = TIFFFile(width: 64, height: 64, kind: 5, pixel: [cyan, 120, 200, 10], profile: InkProfile.bytes)
    let file = try bench.file("plain.tif", picture.bytes)
    try await Tool.run("convert", file, "-quality", "100", "-sampling-factor", "1x1", input)
    let wanted = try await pixel(input, Self.toScreen)
    for widths in Self.sizes {
      let outputs = widths.map { ImageOutput(format: .png, width: $0) }
      let reply = try await bench.encode(input, ImageRequest(outputs: outputs))
      #expect(reply.input.note == nil)
      for index in outputs.indices { expectAlike(try await pixel(bench.path("\(index)")), wanted, within: 6) }
    }
    await bench.close()
  }

  @Test("Inks without a profile of use are those of a usual press, and the result says so")
  func inksWithout() async throws {
    var picture = TIFFFile(kind: 5, pixel: [20, 120, 200, 10])
    let request = ImageRequest(outputs: [ImageOutput(format: .png)])
    #expect(try await bench.encode(try bench.file("in.tif", picture.bytes), request).input.note == nil)
    let plain = try await pixel(bench.path("0"))
    expectAlike(plain, [224, 135, 75, 255], within: 10)
    picture.profile = [UInt8](repeating: 7, count: 300)
    let reply = try await bench.encode(try bench.file("in.tif", picture.bytes), request)
    #expect(reply.input.note == "the colour profile is damaged or not for such pictures, and counts as none")
    expectAlike(try await pixel(bench.path("0")), plain, within: 0)
    await bench.close()
  }

  @Test("Inks may have an opacity, of 8 bits and of 16", arguments: [8, 16], [true, false])
  func inksWithOpacity(_ bits: Int, hasProfile: Bool) async throws {
    let samples = [20, 120, 200, 10, 128] as [UInt8]
    var picture = TIFFFile(
      bits: bits, kind: 5, pixel: samples.flatMap { Array(repeating: $0, count: bits / 8) }, extra: [2],
      profile: hasProfile ? InkProfile.bytes : [])
    let input = try bench.file("in.tif", picture.bytes)
    picture.pixel.removeLast(bits / 8)
    picture.extra = []
    let opaque = try bench.file("opaque.tif", picture.bytes)
    _ = try await bench.encode(opaque, ImageRequest(outputs: [ImageOutput(format: .png)]))
    let wanted = try await Array(pixel(bench.path("0")).prefix(3)) + [128]
    for widths in Self.sizes {
      let outputs = widths.map { ImageOutput(format: .png, width: $0) }
      _ = try await bench.encode(input, ImageRequest(outputs: outputs))
      for index in outputs.indices { expectAlike(try await pixel(bench.path("\(index)")), wanted, within: 2) }
    }
    await bench.close()
  }

  @Test("Samples of 32 bits are those of 8 in more detail, whatever the size", arguments: [1, 3], [false, true])
  func wideSamples(_ channels: Int, isBig: Bool) async throws {
    let samples = [0xC0, 0x40, 0x80].prefix(channels)
    let picture = TIFFFile(
      bits: 32, kind: channels == 1 ? 1 : 2, pixel: samples.flatMap { TIFFFile.number($0 << 24, 4) }, isBig: isBig)
    let input = try bench.file("in.tif", picture.bytes)
    let wanted = channels == 1 ? [0xC0, 0xC0, 0xC0, 255] : [0xC0, 0x40, 0x80, 255]
    for widths in Self.sizes {
      let outputs = widths.map { ImageOutput(format: .png, width: $0) }
      _ = try await bench.encode(input, ImageRequest(outputs: outputs))
      for index in outputs.indices {
        expectAlike(try await pixel(bench.path("\(index)")), wanted.map { Double($0) }, within: 1)
      }
    }
    await bench.close()
  }

  static let refused: [(TIFFFile, String)] = [
    (TIFFFile(form: 2, kind: 1, pixel: [200]), "with signed samples of 8 bits, which are not read"),
    (TIFFFile(form: 2, kind: 2, pixel: [200, 100, 50]), "with signed samples of 8 bits, which are not read"),
    (TIFFFile(bits: 16, form: 2, kind: 1, pixel: [1, 2]), "with signed samples of 16 bits, which are not read"),
    (TIFFFile(bits: 32, form: 2, kind: 1, pixel: [1, 2, 3, 4]), "with signed samples of 32 bits, which are not read"),
    (
      TIFFFile(bits: 64, form: 3, kind: 1, pixel: [0, 0, 0, 0, 0, 0, 0, 0]),
      "with samples of 64 bits in floating point; those of 32 bits are read"
    ),
    (
      TIFFFile(kind: 6, pixel: [76, 85, 255]),
      "in YCbCr without JPEG compression, which is not read; convert it to RGB first"
    ),
    (
      TIFFFile(kind: 6, pixel: [76, 85, 255], isBig: true),
      "in YCbCr without JPEG compression, which is not read; convert it to RGB first"
    ),
    (TIFFFile(kind: 9, pixel: [9, 9, 9]), "of ICCLab colours, which is not read; convert it to RGB first"),
    (
      TIFFFile(bits: 16, kind: 32803, pixel: [1, 2]), "of a camera's sensor, which is not read; convert it to RGB first"
    ),
    (TIFFFile(kind: 77, pixel: [1]), "with colours of kind 77, which is not known"),
    (TIFFFile(kind: 5, pixel: [1, 2, 3]), "with 3 inks; 4 are read, cyan to black"),
  ]

  @Test("A TIFF picture whose samples would be taken for others is refused with the kind that it is of")
  func kindsOfTIFF() async throws {
    for (picture, problem) in Self.refused {
      let error = try await bench.failure(try bench.file("in.tif", picture.bytes))
      #expect(error.code == .notAPicture && error.permanent)
      #expect(error.message == "the input is a TIFF picture \(problem)")
    }
    for (kind, most) in [(1, 2), (2, 4), (5, 5)] {
      let picture = TIFFFile(kind: kind, pixel: Array(1...UInt8(most + 1)), extra: [0, 0])
      let error = try await bench.failure(try bench.file("in.tif", picture.bytes))
      #expect(error.message == "the input has \(most + 1) channels; colours and opacity are \(most) at most")
    }
    await bench.close()
  }

  @Test("TIFF pictures of the usual kinds are read as they are", arguments: [false, true])
  func usualKinds(isBig: Bool) async throws {
    let kinds: [(TIFFFile, [Double])] = [
      (TIFFFile(kind: 0, pixel: [55]), [200, 200, 200, 255]), (TIFFFile(kind: 1, pixel: [200]), [200, 200, 200, 255]),
      (TIFFFile(kind: 1, pixel: [200, 128], extra: [2]), [200, 200, 200, 128]),
      (TIFFFile(kind: 2, pixel: [200, 100, 50]), [200, 100, 50, 255]),
      (TIFFFile(kind: 2, pixel: [200, 100, 50, 128], extra: [2]), [200, 100, 50, 128]),
      (TIFFFile(bits: 16, kind: 2, pixel: [9, 200, 9, 100, 9, 50]), [200, 100, 50, 255]),
      (TIFFFile(bits: 32, form: 3, kind: 1, pixel: [0, 0, 0, 0x43]), [128, 128, 128, 255]),
    ]
    for (picture, wanted) in kinds {
      var picture = picture
      picture.isBig = isBig
      _ = try await bench.encode(
        try bench.file("in.tif", picture.bytes), ImageRequest(outputs: [ImageOutput(format: .png, width: 10)]))
      expectAlike(try await pixel(bench.path("0")), wanted, within: 1)
    }
    await bench.close()
  }

  static let failures: [ImageFailOn] = [.error, .none]

  @Test(
    "A broken profile is no reason to refuse a picture, and goes into no output",
    arguments: ["jpg", "tif", "webp"], failures)
  func brokenProfile(_ suffix: String, _ failOn: ImageFailOn) async throws {
    let colours: [(String, [Double])] = [("gray(150)", [150, 150, 150, 255]), ("#c86432", [200, 100, 50, 255])]
    for (colour, wanted) in suffix == "webp" ? Array(colours.dropFirst()) : colours {
      for profile in [[UInt8](repeating: 7, count: 300), InkProfile.bytes] {
        let input = try await picture(of: colour, suffix, profile)
        for keeps in [false, true] {
          var output = ImageOutput(format: .png, width: 16)
          output.keepsColours = keeps
          if !keeps { output.metadata = [.icc] }
          let reply = try await bench.encode(input, ImageRequest(outputs: [output], failOn: failOn))
          #expect(reply.input.note == "the colour profile is damaged or not for such pictures, and counts as none")
          expectAlike(try await pixel(bench.path("0")), wanted, within: 2)
          #expect(try await Tool.header(bench.path("0"))["icc-profile-data"] == nil)
        }
        let warned = ImageRequest(outputs: [ImageOutput(format: .png)], failOn: .warning)
        let error = try await bench.failure(input, warned)
        #expect(error.code == .damaged && error.message.hasPrefix("the colour profile is damaged"))
      }
    }
    await bench.close()
  }

  /// A picture of one colour with a profile that no tool would give it.
  private func picture(of colour: String, _ suffix: String, _ profile: [UInt8]) async throws -> String {
    let input = bench.path("in.\(suffix)")
    if suffix == "tif" {
      let pixel: [UInt8] = colour.hasPrefix("#") ? [200, 100, 50] : [150]
      let file = TIFFFile(width: 32, height: 32, kind: pixel.count == 1 ? 1 : 2, pixel: pixel, profile: profile)
      return try bench.file("in.tif", file.bytes)
    }
    try await Tool.run(
      "convert", "-size", "32x32", "xc:\(colour)", "-strip", "-quality", "100", "-define", "webp:lossless=true", input)
    var bytes = [UInt8](try Data(contentsOf: URL(filePath: input)))
    if suffix == "jpg" {
      let content = Array("ICC_PROFILE\0".utf8) + [1, 1] + profile
      bytes.insert(contentsOf: [0xFF, 0xE2] + TIFFFile.number(content.count + 2, 2).reversed() + content, at: 2)
    } else {
      // The picture's own chunk comes behind one that tells what there is, and the profile; source: RFC 9649.
      let side = TIFFFile.number(31, 3)
      let chunks =
        Array("VP8X".utf8) + TIFFFile.number(10, 4) + [0x20, 0, 0, 0] + side + side + Array("ICCP".utf8)
        + TIFFFile.number(profile.count, 4) + profile + bytes[12...]
      bytes = Array("RIFF".utf8) + TIFFFile.number(chunks.count + 4, 4) + Array("WEBP".utf8) + chunks
    }
    return try bench.file("in.\(suffix)", bytes)
  }
}
