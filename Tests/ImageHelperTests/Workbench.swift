import Foundation
import Glibc
import ImageHandler
import ImageProtocol
import SystemSupport
import TestSupport
import Testing

/// A directory and a pool of the real helper for one test.
struct Workbench {
  static let photographs = "/usr/share/backgrounds/mate/nature"

  let directory: TemporaryDirectory
  let pool: ImageHelperPool
  private let configuration: ImageHelperConfiguration

  init(
    size: Int = 1, jobsPerHelper: Int = 200, arguments: ImageHelperArguments = ImageHelperArguments()
  ) throws {
    directory = try TemporaryDirectory()
    let helper = try RepositoryPaths.executable("bobbin-image").path(percentEncoded: false)
    configuration = ImageHelperConfiguration(
      helperPath: helper, size: size, arguments: arguments, jobsPerHelper: jobsPerHelper,
      wallClockLimit: .seconds(600))
    pool = ImageHelperPool(configuration: configuration)
  }

  /// Gives each job from now on so much time.
  func setWallClockLimit(_ limit: Duration) async {
    var changed = configuration
    changed.wallClockLimit = limit
    await pool.reconfigure(changed)
  }

  static func photograph(_ name: String) -> String { "\(photographs)/\(name).jpg" }

  func path(_ name: String) -> String { directory.path(name) }

  /// Writes a file of these bytes and returns its path.
  func file(_ name: String, _ bytes: some Sequence<UInt8>) throws -> String {
    try Data(bytes).write(to: URL(filePath: path(name)))
    return path(name)
  }

  /// Encodes `input` into files named `0`, `1` ... in the directory.
  func encode(
    _ input: String, _ request: ImageRequest, deadline: Deadline = .never,
    didMake: @Sendable (Int) -> Void = { _ in }
  ) async throws -> ImageReply {
    let source = try FileDescriptor.open(input)
    var outputs: [Int32] = []
    defer { for output in outputs { _ = FileDescriptor(owning: output) } }
    for index in request.outputs.indices {
      outputs.append(try FileDescriptor.open(path(String(index)), .creating).relinquish())
      try #require(ftruncate(outputs[index], 0) == 0)
    }
    return try await pool.encode(request, input: source.number, outputs: outputs, deadline: deadline, didMake: didMake)
  }

  /// Encodes `input` and returns the error that must come.
  func failure(
    _ input: String, _ request: ImageRequest = ImageRequest(outputs: [ImageOutput(format: .webp, width: 100)]),
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> ImageError {
    try #require(
      await #expect(throws: ImageError.self, sourceLocation: sourceLocation) { _ = try await encode(input, request) },
      sourceLocation: sourceLocation)
  }

  /// Gives a JPEG file an EXIF segment that says how the camera was held.
  func insertOrientation(_ orientation: UInt8, into path: String) throws {
    // A TIFF directory of one entry: tag 0x0112, type short, count 1.
    let directory: [UInt8] = [1, 0, 0x12, 0x01, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0, 0, 0, 0, 0]
    let body = Array("Exif\0\0II*\0".utf8) + [8, 0, 0, 0] + directory
    var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
    bytes.insert(contentsOf: [0xFF, 0xE1, 0, UInt8(body.count + 2)] + body, at: 2)
    try Data(bytes).write(to: URL(filePath: path))
  }

  /// Ends the helpers; every test does so last.
  func close() async {
    await pool.shutDown(by: .after(.seconds(10)))
  }
}
