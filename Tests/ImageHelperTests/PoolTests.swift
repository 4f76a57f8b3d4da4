import CLinux
import Foundation
import Glibc
import ImageHandler
import ImageProtocol
import Synchronization
import SystemSupport
import TestSupport
import Testing

@Suite("Pool of image helpers", .timeLimit(.minutes(10)))
struct PoolTests {
  static let small = ImageRequest(outputs: [ImageOutput(format: .webp, width: 64)])
  static let photograph = Workbench.photograph("GreenMeadow")

  private func error(of task: Task<ImageReply, any Error>) async throws -> ImageError {
    try #require(await #expect(throws: ImageError.self) { _ = try await task.value })
  }

  /// The names in a folder of `/proc`.
  private func entries(_ path: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path).sorted()
  }

  @Test("A helper killed in the middle of a job costs that attempt, and the next job has a new helper")
  func killed() async throws {
    let bench = try Workbench()
    let stalled = try StalledJob()
    let job = stalled.start(on: bench.pool)
    try await stalled.hasBegun()
    let helper = try #require(await bench.pool.processIDs.first)
    #expect(kill(helper, SIGKILL) == 0)
    let error = try await error(of: job)
    #expect(error.code == .helperDied && !error.permanent)
    #expect(error.message.contains("killed by signal 9 (SIGKILL)"))
    #expect(try await bench.encode(Self.photograph, Self.small).outputs.first?.width == 64)
    #expect(await !bench.pool.processIDs.contains(helper))
    await bench.close()
  }

  @Test("A crash is told by its signal", arguments: [SIGSEGV, SIGABRT, SIGBUS])
  func crash(_ signal: Int32) async throws {
    let bench = try Workbench()
    let stalled = try StalledJob()
    let job = stalled.start(on: bench.pool)
    try await stalled.hasBegun()
    #expect(kill(try #require(await bench.pool.processIDs.first), signal) == 0)
    let error = try await error(of: job)
    #expect(error.code == .helperDied && error.message.contains(signalName(signal)), "\(error)")
    await bench.close()
  }

  @Test("Of several outputs each is told when it is made, within the time of the whole picture", arguments: [1, 4])
  func progress(count: Int) async throws {
    let bench = try Workbench()
    let told = Mutex<[Int]>([])
    let request = ImageRequest(outputs: (1...count).map { ImageOutput(format: .webp, width: 32 * $0) })
    let reply = try await bench.encode(Self.photograph, request) { made in told.withLock { $0.append(made) } }
    #expect(reply.outputs.count == count)
    // The reply tells of the last one.
    #expect(told.withLock { $0 } == Array(1..<count))
    await bench.close()
  }

  @Test("A helper killed while idle costs nothing")
  func killedIdle() async throws {
    let bench = try Workbench()
    _ = try await bench.encode(Self.photograph, Self.small)
    let helper = try #require(await bench.pool.processIDs.first)
    let descriptor = FileDescriptor(owning: pidfd_open(helper, 0))
    #expect(kill(helper, SIGKILL) == 0)
    try await descriptor.becomesReadable(withinSeconds: 10)
    #expect(try await bench.encode(Self.photograph, Self.small).outputs.first?.width == 64)
    await bench.close()
  }

  @Test("A stopped helper is killed at the limit for one job")
  func stopped() async throws {
    let bench = try Workbench()
    _ = try await bench.encode(Self.photograph, Self.small)
    let helper = try #require(await bench.pool.processIDs.first)
    #expect(kill(helper, SIGSTOP) == 0)
    await bench.setWallClockLimit(.seconds(1))
    let error = try await bench.failure(Self.photograph, Self.small)
    #expect(error.code == .timedOut && !error.permanent)
    await bench.setWallClockLimit(.seconds(600))
    #expect(try await bench.encode(Self.photograph, Self.small).outputs.first?.width == 64)
    #expect(await !bench.pool.processIDs.contains(helper))
    await bench.close()
  }

  @Test("A picture that uses up its processor time ends its helper and says so")
  func processorTime() async throws {
    let bench = try Workbench()
    let slow = ImageOutput(format: .png, width: 12_000, enlarge: true)
    let request = ImageRequest(outputs: [slow], limits: ImageLimits(processorSeconds: 1))
    let error = try await bench.failure(Self.photograph, request)
    #expect(error.code == .timedOut, "\(error)")
    #expect(error.permanent)
    #expect(error.message.hasPrefix("the picture took more than 1 s of processor time; ask for less effort or"))
    await bench.close()
  }

  @Test("Cancelling the caller kills the helper and frees its place")
  func cancelled() async throws {
    let bench = try Workbench()
    let stalled = try StalledJob()
    let job = stalled.start(on: bench.pool)
    try await stalled.hasBegun()
    let helper = try #require(await bench.pool.processIDs.first)
    let waiting = Task.immediate { try await bench.encode(Self.photograph, Self.small) }
    let abandoned = Task.immediate { try await bench.encode(Self.photograph, Self.small) }
    abandoned.cancel()
    #expect(try await error(of: abandoned).code == .cancelled)
    job.cancel()
    #expect(try await error(of: job).code == .cancelled)
    #expect(try await waiting.value.outputs.count == 1)
    #expect(await !bench.pool.processIDs.contains(helper))
    await bench.close()
  }

  @Test("Jobs beyond the pool's size wait in the order they came")
  func order() async throws {
    let bench = try Workbench()
    let stalled = try StalledJob()
    let first = stalled.start(on: bench.pool)
    let finished = FinishedJobs()
    let jobs = (0..<8).map { number in
      Task.immediate {
        let input = try FileDescriptor.open(Self.photograph)
        let output = try FileDescriptor.open(bench.path("job\(number)"), .creating)
        _ = try await bench.pool.encode(Self.small, input: input.number, outputs: [output.number])
        finished.numbers.withLock { $0.append(number) }
      }
    }
    try await stalled.hasBegun()
    first.cancel()
    for job in jobs { try await job.value }
    #expect(finished.numbers.withLock { $0 } == Array(0..<8))
    await bench.close()
  }

  @Test("A job that gets no helper before its deadline is told so")
  func deadline() async throws {
    let bench = try Workbench()
    let stalled = try StalledJob()
    let job = stalled.start(on: bench.pool)
    try await stalled.hasBegun()
    let waiting = Task { try await bench.encode(Self.photograph, Self.small, deadline: .after(.milliseconds(50))) }
    let error = try await error(of: waiting)
    #expect(error.code == .timedOut)
    job.cancel()
    await bench.close()
  }

  @Test("A helper is replaced after its number of jobs")
  func recycled() async throws {
    let bench = try Workbench(jobsPerHelper: 3)
    var seen: [Int32] = []
    for _ in 0..<9 {
      _ = try await bench.encode(Self.photograph, Self.small)
      seen += await bench.pool.processIDs
    }
    // After every third job there is no helper, before that always the same.
    #expect(seen.count == 6 && Set(seen).count == 3)
    await bench.close()
  }

  @Test("A hundred jobs, good and bad, leave no descriptor open on either side")
  func descriptors() async throws {
    let bench = try Workbench()
    let bad = try bench.file("bad.jpg", Array("no picture".utf8))
    for number in 0..<100 {
      if number % 4 == 0 {
        _ = try await bench.failure(bad, Self.small)
      } else {
        _ = try await bench.encode(Self.photograph, Self.small)
      }
    }
    let helper = try #require(await bench.pool.processIDs.first)
    #expect(try entries("/proc/\(helper)/fd") == ["0", "1", "2", "3"])
    let ours = try entries("/proc/self/fd").compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
    }
    #expect(ours.filter { $0.hasPrefix(bench.directory.path) } == [])
    await bench.close()
  }

  @Test("A helper has the limits it was started with and nothing of the daemon's environment")
  func confinement() async throws {
    let bench = try Workbench(arguments: ImageHelperArguments(addressSpace: 900 << 20, outputBytes: 1 << 20))
    _ = try await bench.encode(Self.photograph, Self.small)
    let helper = try #require(await bench.pool.processIDs.first)
    let limits = try String(contentsOfFile: "/proc/\(helper)/limits", encoding: .utf8)
    // Of the address space it has what its picture needs, and can get no more than it was started with.
    let space = try #require(limits.firstMatch(of: try Regex("Max address space +([0-9]+) +([0-9]+) ")))
    let now = try #require(space.output[1].substring.flatMap { Int($0) })
    #expect(space.output[2].substring == "\(900 << 20)" && now > 300 << 20 && now < 900 << 20)
    for (name, value) in [("file size", 1 << 20), ("core file size", 0)] {
      #expect(limits.contains(try Regex("Max \(name) +\(value) +\(value) ")), "\(name)")
    }
    let status = try String(contentsOfFile: "/proc/\(helper)/status", encoding: .utf8)
    #expect(status.contains("\nSeccomp:\t2\n") && status.contains("\nNoNewPrivs:\t1\n"))
    for task in try entries("/proc/\(helper)/task") {
      let status = try String(contentsOfFile: "/proc/\(helper)/task/\(task)/status", encoding: .utf8)
      for set in ["Inh", "Prm", "Eff", "Amb"] + (Glibc.geteuid() == 0 ? ["Bnd"] : []) {
        #expect(status.contains("\nCap\(set):\t0000000000000000\n"), "\(set)")
      }
    }
    let environment = try Data(contentsOf: URL(filePath: "/proc/\(helper)/environ")).split(separator: 0)
    #expect(
      environment.map { String(decoding: $0, as: UTF8.self) }.sorted()
        == [
          "LC_ALL=C", "MALLOC_ARENA_MAX=2", "ORC_CODE=emulate", "SWIFT_BACKTRACE=enable=no", "VIPS_DISC_THRESHOLD=100g",
          "VIPS_NOVECTOR=1",
          "VIPS_WARNING=0",
        ])
    await bench.close()
  }

  @Test("An output beyond the largest file is an error, and the helper goes on")
  func largeOutput() async throws {
    let bench = try Workbench(arguments: ImageHelperArguments(outputBytes: 100_000))
    let error = try await bench.failure(Self.photograph, ImageRequest(outputs: [ImageOutput(format: .png)]))
    #expect(error.code == .tooLarge && error.permanent, "\(error)")
    #expect(try await bench.encode(Self.photograph, Self.small).outputs.first?.width == 64)
    #expect(await bench.pool.processIDs.count == 1)
    await bench.close()
  }

  @Test("An output that can't be written is an error", arguments: [("/dev/full", false), ("/dev/null", true)])
  func unwritable(_ path: String, _ isReadOnly: Bool) async throws {
    let bench = try Workbench()
    let input = try FileDescriptor.open(Self.photograph)
    let output = try FileDescriptor.open(path, isReadOnly ? .reading : .writing)
    let error = try #require(
      await #expect(throws: ImageError.self) {
        _ = try await bench.pool.encode(Self.small, input: input.number, outputs: [output.number])
      })
    #expect(error.code == .output && error.permanent == isReadOnly, "\(error)")
    if !isReadOnly { #expect(error.message == "an output can't be written: No space left on device") }
    await bench.close()
  }

  @Test("An answer to another request is nobody's: the helper is killed, and the job may try again")
  func answerOfAnother() async throws {
    let bench = try Workbench()
    // In the place of the helper: it answers with the number of the next request.
    let program = """
      #!/usr/bin/python3
      import json, socket
      helper = socket.fromfd(\(ImageHelperArguments.socketDescriptor), socket.AF_UNIX, socket.SOCK_SEQPACKET)
      request = json.loads(socket.recv_fds(helper, 65536, 8)[0])
      error = {"code": "damaged", "message": "it is another picture's", "permanent": True}
      answer = {"version": request["version"], "number": request["number"] + 1, "error": error}
      helper.send(json.dumps(answer).encode())
      helper.recv(1)
      """
    let path = try bench.file("helper", Array(program.utf8))
    try #require(chmod(path, 0o755) == 0)
    let pool = ImageHelperPool(configuration: ImageHelperConfiguration(helperPath: path, size: 1))
    let input = try FileDescriptor.open(Self.photograph)
    let output = try FileDescriptor.open("/dev/null", .writing)
    let error = try #require(
      await #expect(throws: ImageError.self) {
        _ = try await pool.encode(
          Self.small, input: input.number, outputs: [output.number], deadline: .after(.seconds(30)))
      })
    #expect(error.code == .protocolMismatch && !error.permanent, "\(error)")
    #expect(error.message == "the image helper answered request 2 instead of 1")
    #expect(await pool.processIDs == [])
    await pool.shutDown(by: .after(.seconds(5)))
    await bench.close()
  }

  @Test("A program that isn't there is an error that names it")
  func missing() async throws {
    let pool = ImageHelperPool(configuration: ImageHelperConfiguration(helperPath: "/nonexistent/helper", size: 1))
    let input = try FileDescriptor.open(Self.photograph)
    let output = try FileDescriptor.open("/dev/null", .writing)
    let error = try #require(
      await #expect(throws: ImageError.self) {
        _ = try await pool.encode(Self.small, input: input.number, outputs: [output.number])
      })
    #expect(error.code == .helperNotStarted && error.message.contains("/nonexistent/helper"))
    await pool.shutDown(by: .after(.seconds(5)))
  }

  @Test("Shutting down ends idle and working helpers by the deadline, refuses what waits, and may be done twice")
  func shutDown() async throws {
    let bench = try Workbench(size: 2)
    let stalled = try StalledJob()
    let job = stalled.start(on: bench.pool)
    try await stalled.hasBegun()
    _ = try await bench.encode(Self.photograph, Self.small)
    let helpers = await bench.pool.processIDs
    #expect(helpers.count == 2)
    await bench.pool.shutDown(by: .after(.milliseconds(200)))
    #expect(try await error(of: job).code == .shutDown)
    for helper in helpers { #expect(kill(helper, 0) == -1) }
    #expect(try await bench.failure(Self.photograph, Self.small).code == .shutDown)
    await bench.close()
  }
}

/// The numbers of jobs in the order they finished.
private final class FinishedJobs: Sendable {
  let numbers = Mutex<[Int]>([])
}
