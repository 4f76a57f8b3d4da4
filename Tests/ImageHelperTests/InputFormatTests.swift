import ImageProtocol
import Testing

@Suite("Formats that are off unless configured", .timeLimit(.minutes(10)))
struct InputFormatTests {
  @Test("Their pictures are read where the format is allowed", arguments: [ImageFormat.svg, .jp2, .jxl, .ppm, .pdf])
  func untrusted(_ format: ImageFormat) async throws {
    let bench = try Workbench()
    let input = bench.path("in.\(format.rawValue)")
    switch format {
    case .svg:
      let drawing =
        "<svg xmlns='http://www.w3.org/2000/svg' width='64' height='32'><rect width='64' height='32' fill='lime'/></svg>"
      _ = try bench.file("in.svg", drawing.utf8)
    case .pdf:
      _ = try bench.file("in.pdf", Self.page.utf8)
    default:
      try await Tool.run("vips", "thumbnail", Workbench.photograph("Aqua"), input, "64")
    }
    let allowed = ImageRequest(outputs: [ImageOutput(format: .png, width: 16)], allow: [.png, format])
    let reply = try await bench.encode(input, allowed)
    #expect(reply.input.format == format && reply.outputs.first?.width == 16)
    #expect(try await Tool.header(bench.path("0"))["width"] == "16")
    let refused = try await bench.failure(input)
    #expect(refused.code == .formatNotAllowed && refused.message.contains("of format \(format.displayName)"))
    await bench.close()
  }

  @Test("A packed SVG is read where SVG is allowed, and a damaged one fails at once")
  func packed() async throws {
    let bench = try Workbench()
    let drawing = "<svg xmlns='http://www.w3.org/2000/svg' width='64' height='32'><rect width='64' height='32'/></svg>"
    try await Tool.run("gzip", try bench.file("in.svg", drawing.utf8))
    let request = ImageRequest(outputs: [ImageOutput(format: .png, width: 16)], allow: [.png, .svg])
    let reply = try await bench.encode(bench.path("in.svg.gz"), request)
    #expect(reply.input.format == .svg && reply.input.width == 64)
    let damaged =
      [0x1F, 0x8B, 8, 0, 0, 9, 0x6E, 0x88, 2, 0xFF, 1, 0, 0, 0xFF, 0xFF] + [UInt8](repeating: 0, count: 8)
      + [0x1F, 0x8B, 8, 0, 0, 9, 0x6E, 0x88, 0, 0xFF]
    #expect(try await bench.failure(try bench.file("bad.svgz", damaged), request).permanent)
    await bench.close()
  }

  /// An empty page of 64 x 32 points.
  private static let page = """
    %PDF-1.1
    1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj
    2 0 obj <</Type /Pages /Kids [3 0 R] /Count 1 /MediaBox [0 0 64 32]>> endobj
    3 0 obj <</Type /Page /Parent 2 0 R>> endobj
    trailer <</Root 1 0 R>>
    """
}
