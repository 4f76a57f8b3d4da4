import Foundation
import Glibc
import ImageProtocol
import Testing

@Suite("Encoding pictures", .timeLimit(.minutes(10)))
struct EncodingTests {
  @Test("Each format is written at its size and another program decodes it", arguments: ImageFormat.writable)
  func formats(_ format: ImageFormat) async throws {
    let bench = try Workbench()
    let input = Workbench.photograph("Wood")
    let reply = try await bench.encode(input, ImageRequest(outputs: [ImageOutput(format: format, width: 640)]))
    #expect(reply.input.format == .jpeg)
    #expect(reply.input.width == 2560 && reply.input.height == 1920 && reply.input.pages == 1)
    #expect(reply.input.bytes == (try Data(contentsOf: URL(filePath: input)).count))
    let header = try await Tool.header(bench.path("0"))
    #expect(header["width"] == "640" && header["height"] == "480")
    let loader = format == .avif ? "heif" : format.rawValue
    #expect(header["vips-loader"]?.hasPrefix(loader) == true)
    if loader == "heif" { #expect(header["heif-compression"] == (format == .avif ? "av1" : "hevc")) }
    #expect(header["interpretation"] == "srgb" && header["format"] == "uchar")
    #expect(
      reply.outputs == [
        .init(
          format: format, width: 640, height: 480, bytes: try Data(contentsOf: URL(filePath: bench.path("0"))).count,
          sha256: try await Tool.sha256(bench.path("0")))
      ])
    #expect(reply.input.sha256 == (try await Tool.sha256(input)))
    #expect(abs(try await Tool.average(bench.path("0")) - Tool.average(input)) < 2)
    await bench.close()
  }

  /// A box, a way to fit into it, and what a picture of 2560 x 1600 becomes.
  static let fits: [(output: ImageOutput, width: Int, height: Int)] = [
    (ImageOutput(format: .png), 2560, 1600),
    (ImageOutput(format: .png, width: 512, height: 512), 512, 320),
    (ImageOutput(format: .png, height: 100), 160, 100),
    (ImageOutput(format: .png, width: 1000, height: 10), 16, 10),
    (ImageOutput(format: .png, width: 300, height: 300, fit: .cover), 300, 300),
    (ImageOutput(format: .png, width: 37, height: 301, fit: .cover), 37, 301),
    (ImageOutput(format: .png, width: 300, height: 299, fit: .fill), 300, 299),
    (ImageOutput(format: .png, width: 5000, height: 5000), 2560, 1600),
    (ImageOutput(format: .png, width: 3000, height: 100, fit: .cover), 2560, 100),
    (ImageOutput(format: .png, width: 3000, height: 100, fit: .fill), 2560, 100),
    (ImageOutput(format: .png, width: 2816, enlarge: true), 2816, 1760),
    (ImageOutput(format: .png, width: 2600, height: 1610, fit: .cover, enlarge: true), 2600, 1610),
    (ImageOutput(format: .png, width: 2600, height: 100, fit: .fill, enlarge: true), 2600, 100),
    (ImageOutput(format: .png, width: 1, height: 1), 1, 1),
  ]

  @Test("Each fit gives exactly the size promised", arguments: fits.indices)
  func fit(_ index: Int) async throws {
    let (output, width, height) = Self.fits[index]
    let bench = try Workbench()
    let reply = try await bench.encode(Workbench.photograph("Aqua"), ImageRequest(outputs: [output]))
    #expect(reply.outputs.first.map { [$0.width, $0.height] } == [width, height])
    let header = try await Tool.header(bench.path("0"))
    #expect(header["width"] == String(width) && header["height"] == String(height))
    await bench.close()
  }

  @Test("Several outputs of one decode have the same sizes as each alone")
  func several() async throws {
    let bench = try Workbench()
    let request = ImageRequest(outputs: Self.fits.map(\.output))
    let reply = try await bench.encode(Workbench.photograph("Aqua"), request)
    #expect(reply.outputs.map { [$0.width, $0.height] } == Self.fits.map { [$0.width, $0.height] })
    for (index, fit) in Self.fits.enumerated() {
      let header = try await Tool.header(bench.path(String(index)))
      #expect(header["width"] == String(fit.width) && header["height"] == String(fit.height))
    }
    await bench.close()
  }

  @Test("Each input format is read", arguments: ["png", "webp", "jpg", "gif", "tif", "avif"])
  func inputs(_ suffix: String) async throws {
    let bench = try Workbench()
    let input = bench.path("in.\(suffix)")
    try await Tool.run("vips", "thumbnail", Workbench.photograph("Dune"), input, "320")
    let request = ImageRequest(outputs: [ImageOutput(format: .jpeg, width: 160)], allow: ImageFormat.allCases)
    let reply = try await bench.encode(input, request)
    #expect(reply.outputs.first.map { [$0.width, $0.height] } == [160, 100])
    #expect(abs(try await Tool.average(bench.path("0")) - Tool.average(input)) < 3)
    await bench.close()
  }

  @Test("Of a TIFF file with several pages the first is encoded, also where the second has half its size")
  func pages() async throws {
    let bench = try Workbench()
    let input = bench.path("in.tif")
    try await Tool.run("convert", "-size", "400x200", "xc:red", "-size", "200x100", "xc:blue", input)
    try await Tool.run("exiftool", "-overwrite_original", "-n", "-IFD0:Orientation=6", input)
    let request = ImageRequest(outputs: [
      ImageOutput(format: .png, width: 40),
      ImageOutput(format: .png, width: 50, height: 50, fit: .cover, crop: .entropy),
    ])
    for outputs in [request.outputs, [request.outputs[0]], [request.outputs[1]]] {
      let reply = try await bench.encode(input, ImageRequest(outputs: outputs))
      #expect(reply.input.pages == 2 && reply.input.width == 200 && reply.input.height == 400)
      for index in outputs.indices {
        let text = try await Tool.run("vips", "getpoint", bench.path(String(index)), "20", "20")
        #expect(text.hasPrefix("254 0 0") || text.hasPrefix("255 0 0"), "\(text)")
      }
    }
    await bench.close()
  }

  @Test("Every installed photograph becomes a thumbnail")
  func photographs() async throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: Workbench.photographs)
    try #require(names.count >= 10)
    let bench = try Workbench(size: 2)
    let request = ImageRequest(outputs: [
      ImageOutput(format: .webp, width: 256, height: 256),
      ImageOutput(format: .png, width: 64, height: 64, fit: .cover),
    ])
    for name in names {
      let reply = try await bench.encode("\(Workbench.photographs)/\(name)", request)
      #expect(try await Tool.header(bench.path("0"))["width"] == "256")
      #expect(reply.outputs.last.map { [$0.width, $0.height] } == [64, 64])
    }
    await bench.close()
  }

  @Test("A picture that lies on its side is turned upright, and its metadata goes unless it is to be kept")
  func orientation() async throws {
    let bench = try Workbench()
    let input = bench.path("in.jpg")
    try await Tool.run("vips", "thumbnail", Workbench.photograph("Dune"), input + "[strip]", "320")
    try bench.insertOrientation(6, into: input)
    let request = ImageRequest(outputs: [
      ImageOutput(format: .jpeg, width: 100), ImageOutput(format: .jpeg, width: 100, metadata: [.all]),
    ])
    let reply = try await bench.encode(input, request)
    #expect(reply.input.width == 200 && reply.input.height == 320)
    #expect(reply.outputs.map { [$0.width, $0.height] } == [[100, 160], [100, 160]])
    let stripped = try await Tool.header(bench.path("0"))
    let kept = try await Tool.header(bench.path("1"))
    #expect(stripped["orientation"] == nil && stripped["exif-data"] == nil)
    #expect(kept["exif-data"] != nil && ["1", nil].contains(kept["orientation"]))
    await bench.close()
  }

  @Test("Pictures in other colours come out in eight bits of sRGB", arguments: ["cmyk", "rgb16", "grey16", "b-w"])
  func colours(_ space: String) async throws {
    let bench = try Workbench()
    let input = bench.path(space == "cmyk" ? "in.jpg" : "in.png")
    try await Tool.run("vips", "colourspace", Workbench.photograph("Garden"), input, space)
    _ = try await bench.encode(input, ImageRequest(outputs: [ImageOutput(format: .png, width: 200)]))
    let header = try await Tool.header(bench.path("0"))
    #expect(header["format"] == "uchar" && ["srgb", "b-w"].contains(header["interpretation"]))
    await bench.close()
  }

  @Test("Transparent parts stay transparent in PNG and WebP and become white in JPEG")
  func transparency() async throws {
    let bench = try Workbench()
    let input = bench.path("in.png")
    try await Tool.run("vips", "black", bench.path("in.v"), "64", "64", "--bands", "4")
    try await Tool.run("vips", "copy", bench.path("in.v"), input, "--interpretation", "srgb")
    let request = ImageRequest(outputs: [
      ImageOutput(format: .png), ImageOutput(format: .webp), ImageOutput(format: .jpeg),
    ])
    _ = try await bench.encode(input, request)
    #expect(try await Tool.header(bench.path("0"))["bands"] == "4")
    #expect(try await Tool.header(bench.path("1"))["bands"] == "4")
    #expect(try await Tool.average(bench.path("2")) > 254)
    await bench.close()
  }

  @Test("Lower quality makes a smaller file", arguments: [ImageFormat.jpeg, .webp])
  func quality(_ format: ImageFormat) async throws {
    let bench = try Workbench()
    let request = ImageRequest(outputs: [20, 90].map { ImageOutput(format: format, width: 800, quality: $0) })
    let reply = try await bench.encode(Workbench.photograph("Storm"), request)
    #expect(reply.outputs[0].bytes < reply.outputs[1].bytes)
    await bench.close()
  }
}
