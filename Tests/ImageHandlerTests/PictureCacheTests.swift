import Foundation
import ImageProtocol
import SystemSupport
import TestSupport
import Testing

@testable import ImageHandler

@Suite("Pictures that are kept for reuse", .timeLimit(.minutes(10)))
struct PictureCacheTests {
  private let temporary: TemporaryDirectory
  private let request = ImageRequest(outputs: [ImageOutput(format: .png)])

  init() throws { temporary = try TemporaryDirectory() }

  private func input(_ number: Int) -> ImageReply.Input {
    ImageReply.Input(format: .png, width: 1, height: 1, pages: 1, bytes: 1, sha256: "\(number)")
  }

  /// Makes a picture of ten bytes, or takes it; returns whether it was there.
  private func use(_ number: Int, _ cache: PictureCache, limit: Int) async throws -> Bool {
    let reuse = try PictureReuse(cache, request, limit: limit)
    if await reuse.pictures(of: input(number)).isAll(of: request) { return true }
    try "0123456789".withCString { text in
      try #require(write(reuse.descriptor(ofOutput: 0), text, 10) == 10)
    }
    try reuse.keep(
      ImageReply(
        input: input(number), outputs: [.init(format: .png, width: 1, height: 1, bytes: 10, sha256: "")]))
    return false
  }

  @Test("Those used longest ago go first, also after a restart")
  func limit() async throws {
    let cache = PictureCache(folder: temporary.path("kept"))
    for number in 0..<4 { #expect(try await !use(number, cache, limit: 40)) }
    #expect(try await use(0, cache, limit: 40))
    // Ten bytes too much, and a tenth of the limit for later.
    #expect(try await !use(4, cache, limit: 40))
    for (number, isThere) in [(0, true), (3, true), (4, true)] {
      #expect(try await use(number, cache, limit: 40) == isThere, "\(number)")
    }
    let folders = try FileManager.default.contentsOfDirectory(atPath: temporary.path("kept")).sorted()
    #expect(folders.map { $0.prefix(2) } == ["0-", "3-", "4-"])
    let later = PictureCache(folder: temporary.path("kept"))
    #expect(try await use(3, later, limit: 40))
    #expect(try await !use(1, later, limit: 10_000))
  }

  @Test("Jobs that share some of their outputs, in whatever order, don't wait for each other for ever")
  func crossing() async throws {
    let cache = PictureCache(folder: temporary.path("kept"))
    let outputs = (1...6).map { ImageOutput(format: .png, width: $0) }
    let jobs = (0..<40).map { number in
      Task {
        var outputs = outputs + [outputs[number % 6]]
        outputs.shuffle()
        let request = ImageRequest(outputs: outputs, wantsPlaceholder: number % 2 == 0)
        let reuse = try PictureReuse(cache, request, limit: 100_000)
        let known = await reuse.pictures(of: input(number % 3))
        var made = ImageReply(input: input(number % 3), outputs: [])
        for (index, output) in outputs.enumerated() where !known.permission(1).known.contains(index) {
          try #require(write(reuse.descriptor(ofOutput: index), "0123456789", 10) == 10)
          made.outputs.append(
            .init(format: .png, width: output.width ?? 0, height: 1, bytes: 10, sha256: ""))
        }
        if request.wantsPlaceholder { made.placeholder = .init(picture: "p", colour: .white) }
        let reply = known.completing(made, of: request)
        #expect(reply.outputs.map(\.width) == outputs.map(\.width))
        #expect((reply.placeholder != nil) == request.wantsPlaceholder)
        try reuse.keep(reply)
        return Set(made.outputs.map(\.width)).count
      }
    }
    var made = 0
    for job in jobs { made += try await job.value }
    #expect(made == 6 * 3)
  }

  @Test("One makes what many want, and the next does it when the first has failed")
  func together() async throws {
    let cache = PictureCache(folder: temporary.path("kept"))
    var first: PictureReuse? = try PictureReuse(cache, request, limit: 100)
    #expect(await first?.pictures(of: input(1)).isAll(of: request) == false)
    let others = (0..<5).map { _ in Task { try await use(1, cache, limit: 100) } }
    // It fails: its object goes without having kept anything.
    first = nil
    var found: [Bool] = []
    for other in others { found.append(try await other.value) }
    #expect(found.count { !$0 } == 1)
  }
}
