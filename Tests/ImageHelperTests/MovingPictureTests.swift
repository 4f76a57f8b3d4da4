import Foundation
import ImageProtocol
import Testing

@Suite("Moving pictures", .timeLimit(.minutes(10)))
struct MovingPictureTests {
  /// Four frames of different colours, 80 x 60 pixels, each shown for another time.
  private func makeInput(_ bench: Workbench, _ name: String) async throws -> String {
    let path = bench.path("in.\(name)")
    try await Tool.run(
      "convert", "-size", "80x60", "-delay", "10", "xc:red", "-delay", "20", "xc:lime", "-delay", "30", "xc:blue",
      "-delay", "40", "xc:white", "-loop", "3", bench.path("in.gif"))
    if name == "webp" { try await Tool.run("gif2webp", bench.path("in.gif"), "-o", path) }
    return path
  }

  /// Delay and size of each frame, and its middle.
  private func frames(_ path: String) async throws -> [String] {
    try await Tool.run("convert", path, "-coalesce", "-format", "%T %wx%h %[pixel:p{40,20}]\\n", "info:")
      .split(separator: "\n").map(String.init)
  }

  static let cases: [(input: String, output: ImageFormat)] = [
    ("gif", .gif), ("gif", .webp), ("webp", .gif), ("webp", .webp),
  ]

  @Test("The limit of pixels counts every frame that is written")
  func pixelsOfAllFrames() async throws {
    let bench = try Workbench()
    let input = try await makeInput(bench, "gif")
    func request(_ maxPixels: Int) -> ImageRequest {
      let output = ImageOutput(format: .webp, width: 160, enlarge: true, isAnimated: true)
      return ImageRequest(outputs: [output], limits: ImageLimits(maxPixels: maxPixels))
    }
    let error = try await bench.failure(input, request(4 * 160 * 120 - 1))
    #expect(error.code == .tooLarge && error.message.contains("would have 160 x 120 pixels"), "\(error)")
    #expect(try await bench.encode(input, request(4 * 160 * 120)).outputs.first?.pages == 4)
    await bench.close()
  }

  @Test("Every frame is kept with its time, in each way to fit", arguments: cases.indices)
  func moves(_ index: Int) async throws {
    let (suffix, format) = Self.cases[index]
    let bench = try Workbench()
    let input = try await makeInput(bench, suffix)
    let reply = try await bench.encode(
      input,
      ImageRequest(outputs: [
        ImageOutput(format: format, isAnimated: true),
        ImageOutput(format: format, width: 40, isAnimated: true),
        ImageOutput(format: format, width: 50, height: 50, fit: .cover, isAnimated: true),
        ImageOutput(format: format, width: 80, height: 80, fit: .pad, isAnimated: true),
        ImageOutput(format: format, width: 30, height: 60, fit: .fill, isAnimated: true),
        ImageOutput(format: format),
      ]))
    #expect(reply.input.pages == 4)
    #expect(reply.outputs.map(\.pages) == [4, 4, 4, 4, 4, 1])
    #expect(
      reply.outputs.map { [$0.width, $0.height] } == [[80, 60], [40, 30], [50, 50], [80, 80], [30, 60], [80, 60]])
    for (index, size) in ["80x60", "40x30", "50x50", "80x80", "30x60"].enumerated() {
      let path = bench.path("out.\(format.rawValue)")
      try? FileManager.default.removeItem(atPath: path)
      try FileManager.default.copyItem(atPath: bench.path(String(index)), toPath: path)
      if format == .gif {
        let found = try await frames(path)
        #expect(found.map { $0.prefix { $0 != "(" } }.count == 4)
        for (frame, delay) in zip(found, [10, 20, 30, 40]) { #expect(frame.hasPrefix("\(delay) \(size) "), "\(frame)") }
      } else {
        let text = try await Tool.run("webpinfo", path)
        #expect(text.components(separatedBy: "Chunk ANMF").count == 5)
        #expect(text.contains("No error detected") && !text.contains("Chunk EXIF"))
        let durations = text.split(separator: "\n").filter { $0.contains("Duration:") }
        #expect(durations.compactMap { $0.split(separator: " ").last.flatMap { Int($0) } } == [100, 200, 300, 400])
      }
    }
    #expect(try await Tool.header(bench.path("5"))["n-pages"] ?? "1" == "1")
    await bench.close()
  }

  @Test("One frame of one is no moving picture, whatever is asked")
  func still() async throws {
    let bench = try Workbench()
    let request = ImageRequest(outputs: [ImageOutput(format: .webp, width: 64, isAnimated: true)])
    let reply = try await bench.encode(Workbench.photograph("Aqua"), request)
    #expect(reply.outputs.map(\.pages) == [1] && reply.outputs.map(\.height) == [40])
    await bench.close()
  }

  @Test("The canvas of a GIF is transparent where no frame has been, though no colour of the file is")
  func canvas() async throws {
    let bench = try Workbench()
    let frames = ["-page", "40x40+10+10", "-size", "20x20", "xc:#c83214"]
    let second = ["-page", "40x40+0+0", "-size", "10x10", "xc:#1432c8"]
    for (isMoving, arguments) in [(false, frames), (true, frames + second)] {
      let input = bench.path("in.gif")
      try await Tool.run("convert", arguments: arguments + [input])
      try #require(try await Tool.header(input)["bands"] == "3")
      let outputs = [nil, 20].map { ImageOutput(format: .webp, width: $0, isLossless: true, isAnimated: isMoving) }
      for request in [ImageRequest(outputs: [outputs[0]]), ImageRequest(outputs: outputs)] {
        _ = try await bench.encode(input, request)
        for index in request.outputs.indices {
          let size = index == 0 ? 40 : 20
          func opacity(_ share: Double, page: Int) async throws -> String? {
            let place = Int(share * Double(size))
            let path = bench.path("\(index)") + (isMoving ? "[n=-1]" : "")
            return try await Tool.run("vips", "getpoint", path, "\(place)", "\(page * size + place)")
              .split(whereSeparator: \.isWhitespace).last.map(String.init)
          }
          #expect(try await opacity(0.5, page: 0) == "255")
          #expect(try await opacity(0.1, page: 0) == "0")
          #expect(try await opacity(0.9, page: 0) == "0")
          guard isMoving else { continue }
          #expect(try await opacity(0.5, page: 1) == "255")
          let drawn = try #require(try await opacity(0.1, page: 1).flatMap { Int($0) })
          // Near an edge, making it smaller rings.
          #expect(drawn >= (index == 0 ? 255 : 240), "\(index): \(drawn)")
          #expect(try await opacity(0.9, page: 1) == "0")
        }
      }
    }
    await bench.close()
  }
}
