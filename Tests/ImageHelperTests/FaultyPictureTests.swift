import Foundation
import ImageProtocol
import Testing

@Suite("What is wrong with a picture that is encoded all the same", .timeLimit(.minutes(10)))
struct FaultyPictureTests {
  private let bench: Workbench

  init() throws { bench = try Workbench() }

  private func small(_ name: String) async throws -> [UInt8] {
    try await Tool.run("vips", "thumbnail", Workbench.photograph("Wood"), bench.path(name) + "[strip]", "320")
    return [UInt8](try Data(contentsOf: URL(filePath: bench.path(name))))
  }

  private func requests(_ failOn: ImageFailOn) -> [ImageRequest] {
    let outputs = [ImageOutput(format: .png), ImageOutput(format: .webp, width: 40)]
    return [ImageRequest(outputs: outputs, failOn: failOn)]
      + outputs.map { ImageRequest(outputs: [$0], failOn: failOn) }
  }

  @Test("Stray bytes between the parts of a JPEG file do no harm, unless warnings are to count")
  func strayBytes() async throws {
    var bytes = try await small("whole.jpg")
    let position = try #require(bytes.firstRange(of: [0xFF, 0xDB])?.lowerBound)
    bytes.insert(contentsOf: [1, 2, 3], at: position)
    let input = try bench.file("in.jpg", bytes)
    for request in requests(.error) {
      _ = try await bench.encode(input, request)
      let last = try await Tool.average(bench.path("0"))
      #expect(try await abs(last - Tool.average(bench.path("whole.jpg"))) < 2)
    }
    for request in requests(.warning) {
      let error = try await bench.failure(input, request)
      #expect(error.code == .damaged && error.message.contains("extraneous bytes"))
    }
    await bench.close()
  }

  @Test("A whole picture of a kind that its decoder does not know is not called truncated")
  func unknownKind() async throws {
    var bytes = try await small("whole.jpg")
    let frame = try #require(bytes.firstRange(of: [0xFF, 0xC0])?.lowerBound)
    // The bits of a sample, behind the segment's length.
    bytes[frame + 4] = 12
    let error = try await bench.failure(try bench.file("in.jpg", bytes))
    #expect(error.code == .damaged && error.permanent)
    let expected = "the picture is damaged, or of a kind that its decoder does not know: "
    #expect(error.message.hasPrefix(expected), "\(error.message)")
    await bench.close()
  }

  @Test("The reason is the fault that ends the decoding, and not the smaller ones before it")
  func reasons() async throws {
    var bytes = try await small("whole.jpg")
    let jfif = [0xFF, 0xE0, 0, 16] + Array("JFIF\0".utf8) + [113, 121, 0, 0, 1, 0, 1, 0, 0]
    bytes.insert(contentsOf: jfif, at: 2)
    let frame = try #require(bytes.firstRange(of: [0xFF, 0xC0])?.lowerBound)
    bytes[frame + 4] = 12
    let jpeg = try await bench.failure(try bench.file("in.jpg", bytes))
    #expect(jpeg.message.contains("precision") && !jpeg.message.contains("JFIF"), "\(jpeg)")
    let png = try await bench.failure(
      try bench.file("in.png", PNGFile.claiming(width: 2, height: 2, colours: 3)))
    #expect(png.code == .damaged && png.permanent)
    #expect(png.message == "the picture is truncated or damaged: IDAT: Missing PLTE before IDAT")
    await bench.close()
  }

  @Test("A picture that its decoder finds too large is not said to want memory")
  func decoderLimit() async throws {
    var bytes = try await small("whole.avif")
    let sizes = try #require(bytes.firstRange(of: Array("ispe".utf8))?.upperBound) + 4
    bytes.replaceSubrange(sizes..<sizes + 8, with: [0, 0, 0x42, 0x68, 0, 0, 0x42, 0x68])
    let request = ImageRequest(
      outputs: [ImageOutput(format: .png, width: 10)], limits: ImageLimits(maxPixels: 1_000_000_000))
    let error = try await bench.failure(try bench.file("in.avif", bytes), request)
    #expect(error.permanent)
    #expect(error.message.hasPrefix("the picture is beyond what its decoder allows: "), "\(error)")
    #expect(error.message.contains("17000") && !error.message.contains("memory than"), "\(error)")
    await bench.close()
  }

  @Test("An orientation that TIFF does not know counts as none", arguments: [0, 9])
  func orientation(_ value: Int) async throws {
    _ = try await small("in.tif")
    try await Tool.run(
      "exiftool", "-overwrite_original", "-n", "-IFD0:Orientation=\(value)", bench.path("in.tif"))
    for request in requests(.error) {
      let reply = try await bench.encode(bench.path("in.tif"), request)
      #expect(reply.input.width == 320 && reply.input.height == 240)
    }
    await bench.close()
  }

  @Test("Of a truncated picture, what is there is taken if asked", arguments: ["jpg", "png"])
  func tolerant(_ suffix: String) async throws {
    let bytes = try await small("whole.\(suffix)")
    let input = try bench.file("in.\(suffix)", bytes.prefix(bytes.count / 2))
    for failOn in [ImageFailOn.error, .warning] {
      for request in requests(failOn) { #expect(try await bench.failure(input, request).code == .damaged) }
    }
    for request in requests(.none) {
      let reply = try await bench.encode(input, request)
      #expect(reply.outputs[0].height == reply.outputs[0].width * 3 / 4)
    }
    _ = try await bench.encode(input, ImageRequest(outputs: [ImageOutput(format: .png)], failOn: .none))
    let parts = [("whole.\(suffix)", "a.png"), ("0", "b.png")]
    for (name, part) in parts {
      try await Tool.run("vips", "extract_area", bench.path(name), bench.path(part), "0", "0", "320", "80")
    }
    let averages = try await [Tool.average(bench.path("a.png")), Tool.average(bench.path("b.png"))]
    #expect(abs(averages[0] - averages[1]) < 1)
    await bench.close()
  }

  @Test("A JPEG that is cut in its middle is damaged even if it ends as one should, and without an end it is truncated")
  func cut() async throws {
    let bytes = try await small("whole.jpg")
    for input in [bytes.prefix(bytes.count / 2) + [0xFF, 0xD9], bytes.dropLast(2)] {
      let path = try bench.file("in.jpg", input)
      for request in requests(.error) { #expect(try await bench.failure(path, request).code == .damaged) }
      for request in requests(.none) { _ = try await bench.encode(path, request) }
    }
    await bench.close()
  }
}
