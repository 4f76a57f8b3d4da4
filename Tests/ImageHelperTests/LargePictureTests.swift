import Foundation
import ImageHandler
import ImageProtocol
import SystemSupport
import TestSupport
import Testing

@Suite("Large pictures", .timeLimit(.minutes(10)))
struct LargePictureTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func pool(size: Int, budget: Int) throws -> ImageHelperPool {
    let helper = try RepositoryPaths.executable("bobbin-image").path(percentEncoded: false)
    return ImageHelperPool(
      configuration: ImageHelperConfiguration(helperPath: helper, size: size, memoryBudget: budget << 20))
  }

  /// 49 megapixels that have to be decoded as a whole: some 170 MB.
  private func makeInput() async throws -> String {
    try await Tool.run("vips", "black", directory.path("a.v"), "7000", "7000", "--bands", "3")
    try await Tool.run(
      "vips", "pngsave", directory.path("a.v"), directory.path("a.png"), "--interlace", "--compression", "1")
    return directory.path("a.png")
  }

  private func encode(
    _ input: String, _ name: String, _ pool: ImageHelperPool, deadline: Deadline = .never
  ) async throws -> ImageReply {
    let source = try FileDescriptor.open(input)
    let output = try FileDescriptor.open(directory.path(name), .creating)
    let request = ImageRequest(outputs: [ImageOutput(format: .png, width: 100)])
    return try await pool.encode(request, input: source.number, outputs: [output.number], deadline: deadline)
  }

  @Test("Those that don't fit beside each other wait, and all are encoded")
  func budget() async throws {
    let input = try await makeInput()
    // Each needs about 200 MB of the 284 that three helpers leave.
    let pool = try pool(size: 3, budget: 500)
    let replies = try await withThrowingTaskGroup(of: ImageReply.self) { group in
      for number in 0..<6 { group.addTask { try await encode(input, "out\(number)", pool) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(replies.map { $0.outputs.first?.width } == [Int?](repeating: 100, count: 6))
    #expect(Set(replies.compactMap(\.outputs.first?.sha256)).count == 1)
    #expect(try await Tool.header(directory.path("out5"))["width"] == "100")
    await pool.shutDown(by: .after(.seconds(10)))
  }

  @Test("What would not fit alone is refused with its figures, and the next one is encoded")
  func tooMuch() async throws {
    let input = try await makeInput()
    let pool = try pool(size: 1, budget: 200)
    let error = await #expect(throws: ImageError.self) { _ = try await encode(input, "out", pool) }
    #expect(error?.code == .tooLarge && error?.permanent == true)
    let message = try #require(error?.message)
    #expect(message.contains("MiB of memory; [Image] MemoryBudget leaves 128 MiB to pictures"), "\(message)")
    #expect(try await encode(Workbench.photograph("Aqua"), "next", pool).outputs.first?.width == 100)
    await pool.shutDown(by: .after(.seconds(10)))
  }

  @Test("A picture of 48 megapixels, as phones make them, is encoded in full size, whatever its encoder needs")
  func phone() async throws {
    try await Tool.run("vips", "black", directory.path("a.v"), "8000", "6000", "--bands", "3")
    try await Tool.run("vips", "jpegsave", directory.path("a.v"), directory.path("a.jpg"))
    let bench = try Workbench()
    for output in [
      ImageOutput(format: .avif, effort: 1), ImageOutput(format: .webp, effort: 1, isLossless: true),
      ImageOutput(format: .gif, effort: 1),
    ] {
      let reply = try await bench.encode(directory.path("a.jpg"), ImageRequest(outputs: [output]))
      #expect(reply.outputs.first?.width == 8000, "\(output.format)")
      let header = try await Tool.header(bench.path("0"))
      #expect(header["width"] == "8000" && header["height"] == "6000", "\(output.format)")
    }
    await bench.close()
  }

  @Test("A WebP of 100 megapixels, which its decoder reserves much for, becomes a thumbnail")
  func large() async throws {
    try await Tool.run("vips", "black", directory.path("a.v"), "10000", "10000", "--bands", "3")
    try await Tool.run("vips", "webpsave", directory.path("a.v"), directory.path("a.webp"), "--effort", "0")
    let bench = try Workbench()
    let request = ImageRequest(outputs: [ImageOutput(format: .jpeg, width: 200)])
    #expect(try await bench.encode(directory.path("a.webp"), request).outputs.first?.width == 200)
    #expect(try await Tool.header(bench.path("0"))["width"] == "200")
    await bench.close()
  }

  @Test("What would be huge before it is cut is refused with its figures")
  func cut() async throws {
    let bench = try Workbench()
    try await Tool.run("vips", "black", bench.path("thin.png"), "1", "20000", "--bands", "3")
    let output = ImageOutput(format: .png, width: 1000, height: 1000, fit: .cover, enlarge: true)
    let error = try await bench.failure(bench.path("thin.png"), ImageRequest(outputs: [output]))
    #expect(error.code == .tooLarge && error.permanent, "\(error)")
    #expect(error.message.contains("the picture needs about 57"), "\(error)")
    await bench.close()
  }

  @Test("While one waits for memory, and says so, small ones go on")
  func small() async throws {
    let input = try await makeInput()
    // One of the large ones needs about 170 MB of the 306 that two helpers leave.
    let pool = try pool(size: 2, budget: 450)
    let pipe = try FileDescriptor.pipe()
    let source = try FileDescriptor.open(input)
    let (number, end) = (source.number, pipe.second.number)
    let stalled = Task {
      try await pool.encode(ImageRequest(outputs: [ImageOutput(format: .png)]), input: number, outputs: [end])
    }
    try await pipe.first.becomesReadable(withinSeconds: 60)
    let (waits, observed) = AsyncStream.makeStream(of: String?.self)
    let output = try FileDescriptor.open(directory.path("waited"), .creating)
    let file = output.number
    let waiting = Task {
      try await pool.encode(
        ImageRequest(outputs: [ImageOutput(format: .png, width: 100)]), input: number, outputs: [file]
      ) { observed.yield($0) }
    }
    var said = waits.makeAsyncIterator()
    let wait = try #require(await said.next())
    #expect(
      wait?.hasPrefix("waiting for ") == true && wait?.hasSuffix("MiB of memory that other pictures have") == true)
    for number in 0..<3 {
      let reply = try await encode(
        Workbench.photograph("Aqua"), "small\(number)", pool, deadline: .after(.seconds(60)))
      #expect(reply.outputs.first?.width == 100)
    }
    stalled.cancel()
    await #expect(throws: ImageError.self) { _ = try await stalled.value }
    #expect(try await waiting.value.outputs.first?.width == 100)
    #expect(await said.next() == .some(nil))
    #expect(await pool.processIDs.count <= 2)
    await pool.shutDown(by: .after(.seconds(10)))
  }

  @Test("A helper that has grown is replaced")
  func recycled() async throws {
    let helper = try RepositoryPaths.executable("bobbin-image").path(percentEncoded: false)
    let pool = ImageHelperPool(
      configuration: ImageHelperConfiguration(helperPath: helper, size: 1, recycleMemory: 1 << 20))
    _ = try await encode(Workbench.photograph("Aqua"), "first", pool)
    #expect(await pool.processIDs == [])
    var configuration = ImageHelperConfiguration(helperPath: helper, size: 1)
    configuration.jobsPerHelper = 2
    await pool.reconfigure(configuration)
    _ = try await encode(Workbench.photograph("Aqua"), "second", pool)
    #expect(await pool.processIDs.count == 1)
    _ = try await encode(Workbench.photograph("Aqua"), "third", pool)
    #expect(await pool.processIDs == [])
    await pool.shutDown(by: .after(.seconds(10)))
  }
}
