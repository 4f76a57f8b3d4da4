import Foundation
import Glibc
import ImageProtocol
import SystemSupport
import Testing

@Suite("Damaged and hostile pictures", .timeLimit(.minutes(10)))
struct DamagedPictureTests {
  @Test("A truncated picture is an error, not a half grey picture", arguments: ["jpg", "png", "webp", "gif", "tif"])
  func truncated(_ suffix: String) async throws {
    let bench = try Workbench()
    let whole = bench.path("whole.\(suffix)")
    try await Tool.run("vips", "copy", Workbench.photograph("Aqua"), whole)
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: whole)))
    let requests = [
      ImageRequest(outputs: [ImageOutput(format: .webp, width: 100)]),
      ImageRequest(outputs: [ImageOutput(format: .png)]),
      ImageRequest(outputs: [ImageOutput(format: .jpeg, width: 300), ImageOutput(format: .webp, width: 200)]),
    ]
    for share in [0.02, 0.3, 0.6, 0.9, 0.999] {
      let input = try bench.file("cut.\(suffix)", bytes.prefix(Int(Double(bytes.count) * share)))
      for request in requests {
        let error = try await bench.failure(input, request)
        #expect(error.code == .damaged && error.permanent, "\(share): \(error)")
        #expect(error.message.hasPrefix("the picture is truncated or damaged: "))
        // What a decoder leaves behind when it fails is nothing for the next picture. These two fail at the header.
        #expect(await bench.pool.processIDs.count == (["tif", "webp"].contains(suffix) ? 1 : 0))
      }
    }
    await bench.close()
  }

  static let notPictures: [(name: String, bytes: [UInt8], code: ImageError.Code, message: String)] = [
    ("empty.jpg", [], .notAPicture, "the input is empty"),
    (
      "text.jpg", Array("Hello\n".utf8), .notAPicture,
      "not a picture of an allowed format (JPEG, PNG, WebP, AVIF, HEIF, TIFF, GIF)"
    ),
    ("byte.png", [0x89], .notAPicture, "not a picture of an allowed format"),
    (
      "drawing.jpg",
      Array("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><path d='M0 0h9'/></svg>".utf8),
      .formatNotAllowed, "the input is a picture of format SVG"
    ),
    ("zeros.webp", [UInt8](repeating: 0, count: 5000), .notAPicture, "not a picture of an allowed format"),
    // A decoder of SVG that is asked whether it is one unpacks it without end.
    (
      "hang.gz",
      [0x1F, 0x8B, 8, 0, 0, 9, 0x6E, 0x88, 2, 0xFF, 1, 0, 0, 0xFF, 0xFF] + [UInt8](repeating: 0, count: 8)
        + [0x1F, 0x8B, 8, 0, 0, 9, 0x6E, 0x88, 0, 0xFF], .notAPicture, "not a picture of an allowed format"
    ),
    ("start.jpg", [0xFF, 0xD8, 0xFF, 0xE0, 0, 16], .damaged, "damaged"),
  ]

  @Test("A file that is no picture is refused with its reason, and the helper goes on", arguments: notPictures.indices)
  func notAPicture(_ index: Int) async throws {
    let (name, bytes, code, message) = Self.notPictures[index]
    let bench = try Workbench()
    let error = try await bench.failure(try bench.file(name, bytes))
    #expect(error.code == code && error.permanent)
    #expect(error.message.contains(message), "\(error)")
    let before = await bench.pool.processIDs
    let request = ImageRequest(outputs: [ImageOutput(format: .png, width: 10)])
    #expect(try await bench.encode(Workbench.photograph("Aqua"), request).outputs.first?.width == 10)
    #expect(await bench.pool.processIDs == before)
    await bench.close()
  }

  /// So many zeros as zlib packs them, without the checksum at their end.
  private static func packedZeros(_ count: Int) async throws -> [UInt8] {
    let folder = try Workbench()
    let path = folder.path("zeros.gz")
    try await Tool.run("sh", "-c", "head -c \(count) /dev/zero | gzip -9cn > \(path)")
    let packed = try Data(contentsOf: URL(filePath: path))
    await folder.close()
    return [0x78, 0xDA] + packed.dropFirst(10).dropLast(8)
  }

  @Test("Packed texts and profiles are refused that unpack to too much together, before anybody else unpacks them")
  func packedTexts() async throws {
    let bench = try Workbench()
    let name = Array("Comment".utf8) + [0]
    let packed = try await Self.packedZeros(6 << 20)
    let heads: [(String, [UInt8])] = [
      ("zTXt", name + [0]), ("iCCP", name + [0]), ("iTXt", name + [1, 0] + Array("en".utf8) + [0, 0x41, 0]),
    ]
    var request = ImageRequest(outputs: [ImageOutput(format: .png)])
    let three = try bench.file("three.png", PNGFile.holding(heads.map { ($0.0, $0.1 + packed) }))
    let error = try await bench.failure(three, request)
    #expect(error.code == .tooLarge && error.permanent)
    #expect(error.message.contains("unpack to more than 16777216 bytes; [Image] MaxTextSize allows no more"))
    for (type, head) in heads {
      request.limits = ImageLimits(textBytes: 5 << 20)
      let one = try bench.file("one.png", PNGFile.holding([(type, head + packed)]))
      #expect(try await bench.failure(one, request).code == .tooLarge, "\(type)")
    }
    request.limits = ImageLimits()
    let good = try bench.file("good.png", PNGFile.holding([("zTXt", name + [0] + packed), ("tEXt", name + [0x41])]))
    #expect(try await bench.encode(good, request).outputs.count == 1)
    await bench.close()
  }

  @Test("A header that claims 60,000 x 60,000 pixels is refused before a pixel is decoded")
  func bomb() async throws {
    let bench = try Workbench()
    let input = try bench.file("bomb.png", PNGFile.claiming(width: 60_000, height: 60_000))
    // Decoding would take minutes of processor time, and end the helper at the limit.
    let request = ImageRequest(
      outputs: [ImageOutput(format: .png, width: 10)], limits: ImageLimits(processorSeconds: 2))
    let error = try await bench.failure(input, request)
    #expect(error.code == .tooLarge && error.permanent)
    #expect(error.message == "the input claims 60000 x 60000 pixels; the limit is 200000000 pixels")
    await bench.close()
  }

  @Test("Every limit of a request is kept and named")
  func limits() async throws {
    let bench = try Workbench()
    let input = Workbench.photograph("Aqua")
    let output = ImageOutput(format: .png, width: 10)
    var request = ImageRequest(outputs: [output], limits: ImageLimits(maxPixels: 2560 * 1600 - 1))
    #expect(try await bench.failure(input, request).message.contains("claims 2560 x 1600 pixels"))
    request.limits = ImageLimits(maxBytes: 1000)
    #expect(try await bench.failure(input, request).message.contains("the limit is 1000 bytes"))
    request.limits = ImageLimits()
    request.outputs.append(ImageOutput(format: .png, width: 100_000, enlarge: true))
    #expect(try await bench.failure(input, request).message.contains("output 2 would have 100000 x 62500 pixels"))
    request.outputs[1] = ImageOutput(format: .webp, width: 16_384, height: 1, fit: .fill, enlarge: true)
    #expect(try await bench.failure(input, request).message.contains("a WebP side ends at 16383"))
    await bench.close()
  }

  @Test("Frames count against the limits on pages and pixels")
  func pages() async throws {
    let bench = try Workbench()
    let input = bench.path("four.gif")
    try await Tool.run(
      "vips", "thumbnail", Workbench.photograph("Aqua"), bench.path("in.png"), "200", "--height", "400")
    try await Tool.run("vips", "resize", bench.path("in.png"), bench.path("tall.png"), "1", "--vscale", "3.2")
    try await Tool.run("vips", "gifsave", bench.path("tall.png"), input, "--page-height", "100")
    let moving = ImageOutput(format: .webp, isAnimated: true)
    var request = ImageRequest(outputs: [moving], allow: [.gif], limits: ImageLimits(maxPages: 3))
    #expect(try await bench.failure(input, request).message == "the input has 4 pages; the limit is 3 pages")
    request.limits = ImageLimits(maxPixels: 4 * 200 * 100 - 1)
    #expect(try await bench.failure(input, request).message.contains("200 x 100 pixels on 4 pages"))
    // Only those that are read.
    request.limits = ImageLimits(maxPixels: 200 * 100, maxPages: 1)
    request.outputs = [ImageOutput(format: .png)]
    let reply = try await bench.encode(input, request)
    #expect(reply.input.pages == 4 && reply.outputs.first?.height == 100)
    await bench.close()
  }

  @Test(
    "A size that no picture has is told",
    arguments: [(0, 10), (10, 0), (.max, .max), (2_147_483_647, 1)] as [(UInt32, UInt32)])
  func impossibleSize(_ width: UInt32, _ height: UInt32) async throws {
    let bench = try Workbench()
    let input = try bench.file("in.png", PNGFile.claiming(width: width, height: height))
    let error = try await bench.failure(input)
    #expect(error.code == .tooLarge && error.permanent)
    #expect(error.message == "the input claims \(width) x \(height) pixels; a side of a PNG has 1 to 1000000")
    await bench.close()
  }

  @Test("Channels that are no colours are told, before anything is made of them")
  func channels() async throws {
    let bench = try Workbench()
    try await Tool.run("vips", "black", bench.path("five.tif"), "20", "10", "--bands", "5")
    let error = try await bench.failure(bench.path("five.tif"))
    #expect(error.code == .notAPicture && error.permanent)
    #expect(error.message == "the input has 5 channels; colours and opacity are 4 at most")
    await bench.close()
  }

  @Test(
    "A format that isn't allowed is refused by name, AVIF and HEIF apart", arguments: ["gif", "tif", "avif", "heic"])
  func notAllowed(_ suffix: String) async throws {
    let bench = try Workbench()
    let input = bench.path("in.\(suffix)")
    try await Tool.run("vips", "thumbnail", Workbench.photograph("Aqua"), input, "64")
    let format = try #require(ImageFormat.writable.first { $0.nameEndings.contains(suffix) })
    let allowed = ImageFormat.writable.filter { $0 != format }
    let request = ImageRequest(outputs: [ImageOutput(format: .png)], allow: allowed)
    let error = try await bench.failure(input, request)
    #expect(error.code == .formatNotAllowed && error.permanent)
    let names = allowed.map(\.displayName).joined(separator: ", ")
    #expect(error.message == "the input is a picture of format \(format.displayName); allowed are \(names)")
    await bench.close()
  }

  @Test("A file name in libvips's option syntax is only a name")
  func brackets() async throws {
    let bench = try Workbench()
    let bytes = try Data(contentsOf: URL(filePath: Workbench.photograph("Aqua")))
    let input = try bench.file("in.jpg[shrink=8]", bytes)
    let reply = try await bench.encode(input, ImageRequest(outputs: [ImageOutput(format: .webp)]))
    #expect(reply.input.width == 2560 && reply.outputs.first?.width == 2560)
    await bench.close()
  }

  @Test("A picture that needs more address space than a helper may have is refused with its figures")
  func memory() async throws {
    let bench = try Workbench(arguments: ImageHelperArguments(addressSpace: 600 << 20))
    let input = bench.path("large.png")
    try await Tool.run("vips", "black", bench.path("large.v"), "12000", "12000", "--bands", "3")
    try await Tool.run("vips", "pngsave", bench.path("large.v"), input, "--interlace", "--compression", "1")
    let error = try await bench.failure(input)
    #expect(error.code == .tooLarge && error.permanent, "\(error)")
    #expect(error.message.contains("MiB of address space; [Image] MemoryMax is 600 MiB: allow more"), "\(error)")
    let request = ImageRequest(outputs: [ImageOutput(format: .png, width: 10)])
    #expect(try await bench.encode(Workbench.photograph("Aqua"), request).outputs.first?.width == 10)
    await bench.close()
  }

  @Test("A request without sense is refused without a helper")
  func invalid() async throws {
    let bench = try Workbench()
    let outputs: [(ImageOutput, String)] = [
      (ImageOutput(format: .svg), "format \"svg\" can't be written"),
      (ImageOutput(format: .png, width: 0), "width is 0"), (ImageOutput(format: .png, height: -1), "height is -1"),
      (ImageOutput(format: .png, width: 9, fit: .cover), "needs both width and height"),
      (ImageOutput(format: .png, width: 9, fit: .pad), "needs both width and height"),
      (ImageOutput(format: .png, crop: .entropy), "crop has a meaning with fit \"cover\" only"),
      (
        ImageOutput(format: .gif, width: 9, height: 9, fit: .cover, crop: .entropy, isAnimated: true),
        "crop of a moving picture can be \"centre\" only"
      ),
      (ImageOutput(format: .jpeg, quality: 101), "quality is 101"),
      (ImageOutput(format: .png, quality: 9), "quality has no meaning for PNG without a palette"),
      (ImageOutput(format: .webp, quality: 9, isLossless: true), "quality has no meaning for lossless WebP"),
      (ImageOutput(format: .webp, effort: 11), "effort is 11"),
      (ImageOutput(format: .jpeg, effort: 1), "effort has no meaning for JPEG"),
      (ImageOutput(format: .webp, isProgressive: true), "progressive has no meaning for WebP"),
      (ImageOutput(format: .jpeg, isLossless: true), "JPEG is never lossless"),
      (ImageOutput(format: .png, isLossless: true, hasPalette: true), "a palette is not lossless"),
      (ImageOutput(format: .webp, hasPalette: true), "palette has a meaning for PNG only"),
      (ImageOutput(format: .webp, compression: 9), "compression has a meaning for PNG only"),
      (ImageOutput(format: .gif, maxBytes: 9), "maxBytes has no meaning for GIF; leave it out, as there is no quality"),
      (
        ImageOutput(format: .jpeg, background: ImageColour("transparent")),
        "JPEG is always opaque, and background is #ffffff00"
      ),
      (
        ImageOutput(format: .tiff, background: ImageColour("#ff000080"), quality: 9),
        "TIFF with a quality is always opaque, and background is #ff000080"
      ),
      (ImageOutput(format: .jpeg, isAnimated: true), "JPEG pictures don't move"),
      (ImageOutput(format: .jpeg, fileCount: 0), "it has no file"),
    ]
    for (output, message) in outputs {
      let error = try await bench.failure(Workbench.photograph("Aqua"), ImageRequest(outputs: [output]))
      #expect(error.code == .invalidRequest && error.message.contains(message), "\(error)")
    }
    let tooMany = ImageRequest(outputs: Array(repeating: ImageOutput(format: .png), count: 32))
    #expect(try await bench.failure(Workbench.photograph("Aqua"), tooMany).code == .invalidRequest)
    #expect(await bench.pool.processIDs.isEmpty)
    await bench.close()
  }
}
