import Foundation
import ImageHandler
import ImageProtocol
import SystemSupport
import Testing

@Suite("Pictures made for others, too", .timeLimit(.minutes(10)))
struct ReuseTests {
  /// Knows nothing, and does something while the helper waits for its answer.
  private final class Overwriting: ImageReuse {
    let inputCopy: Int32
    private let action: @Sendable () -> Void

    init(_ action: @escaping @Sendable () -> Void) throws {
      self.action = action
      inputCopy = try FileDescriptor.inMemory(named: "input").relinquish()
    }

    func pictures(of input: ImageReply.Input) async -> KnownPictures {
      action()
      return KnownPictures()
    }

    deinit { _ = FileDescriptor(owning: inputCopy) }
  }

  @Test("An input that is overwritten after it was hashed is not encoded under its old hash", arguments: [0, 1, 900])
  func overwritten(_ cut: Int) async throws {
    let bench = try Workbench()
    let original = try Data(contentsOf: URL(filePath: Workbench.photograph("Aqua")))
    let path = try bench.file("in.jpg", original)
    let other = try Data(contentsOf: URL(filePath: Workbench.photograph("Dune"))).dropLast(cut)
    let reuse = try Overwriting {
      // Into the same file, which the helper has open.
      guard let file = FileHandle(forWritingAtPath: path) else { return }
      file.write(other)
      file.truncateFile(atOffset: UInt64(other.count))
    }
    let input = try FileDescriptor.open(path)
    let output = try FileDescriptor.open(bench.path("0"), .creating)
    let request = ImageRequest(outputs: [ImageOutput(format: .png, width: 20)], keepsFiles: true)
    let error = await #expect(throws: ImageError.self) {
      _ = try await bench.pool.encode(request, input: input.number, outputs: [output.number], reuse: reuse)
    }
    #expect(error?.code == .inputChanged && error?.permanent == false)
    #expect(error?.message == "the input was changed while it was read")
    #expect(try output.status().size == 0)
    await bench.close()
  }

  @Test("What is encoded for others comes from a copy that nobody can write to")
  func copied() async throws {
    let bench = try Workbench()
    let original = try Data(contentsOf: URL(filePath: Workbench.photograph("Aqua")))
    let path = try bench.file("in.jpg", original)
    let reuse = try Overwriting {}
    let input = try FileDescriptor.open(path)
    let output = try FileDescriptor.open(bench.path("0"), .creating)
    let request = ImageRequest(outputs: [ImageOutput(format: .png, width: 20)], keepsFiles: true)
    let reply = try await bench.pool.encode(request, input: input.number, outputs: [output.number], reuse: reuse)
    #expect(reply.input.sha256 == (try await Tool.sha256(path)))
    #expect(try await Tool.header(bench.path("0"))["width"] == "20")
    let copy = try FileDescriptor.open("/proc/self/fd/\(reuse.inputCopy)")
    #expect(try copy.readAll(limit: 1 << 24).elementsEqual(original))
    await bench.close()
  }
}
