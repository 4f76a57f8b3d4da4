import Foundation
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

  private func encode(_ input: String, _ name: String, _ pool: ImageHelperPool) async throws -> ImageReply {
    let source = try FileDescriptor.open(input)
    let output = try FileDescriptor.open(directory.path(name), .creating)
    let request = ImageRequest(outputs: [ImageOutput(format: .png, width: 100)])
    return try await pool.encode(request, input: source.number, outputs: [output.number])
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
