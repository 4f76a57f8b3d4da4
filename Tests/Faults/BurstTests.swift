import DaemonTesting
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

extension FaultTests {
  @Suite("Bursts")
  struct Bursts {
    /// Kilobytes of memory that a daemon may take, whatever lies in its spool; one with checks and without optimisation.
    private static let limit = 512 << 10

    @Test("Files that come all at once are all done once, in bounded memory", .timeLimit(.minutes(30)))
    func burst() async throws {
      let count = FaultPlan.count("BURST", short: 3_000, whole: 50_000)
      let root = try DaemonRoot()
      var figures = FaultFigures("a burst of files")
      let daemon = try await DaemonProcess.ready(root)
      let (temporary, new) = (root.paths.spoolTemporary, root.paths.spoolNew)
      try await onThread(seconds: 300) {
        for number in 0..<count {
          try Data(#"{"type": "noop", "id": "b\#(number)"}"#.utf8).write(to: URL(filePath: "\(temporary)/\(number)"))
          try #require(rename("\(temporary)/\(number)", "\(new)/b\(number).json") == 0)
        }
      }
      try await daemon.waitUntilSpoolIsEmpty(seconds: 900)
      let memory = try Self.peakMemory(of: daemon.child.processID)
      let result = try await root.sql("SELECT count(*), count(DISTINCT id) FROM Job WHERE state = 'completed'")
      #expect(result == "\(count)|\(count)")
      #expect(memory < Self.limit, "\(memory) kB")
      let doctor = try await daemon.tool("doctor")
      #expect(doctor.code == 0, "\(doctor.output)\(doctor.errors)")
      let end = try await daemon.stop()
      #expect(end == .exited(code: 0))
      figures.faults = 1
      figures.struck = 1
      figures.jobs = count
      figures.tell("at most \(memory >> 10) MB of memory")
    }

    @Test("A file with ten times as many lines takes less than twice the memory", .timeLimit(.minutes(30)))
    func lines() async throws {
      let count = FaultPlan.count("LINES", short: 5_000, whole: 100_000)
      var figures = FaultFigures("files of many lines")
      var peaks: [Int] = []
      for count in [count / 10, count] {
        let root = try DaemonRoot()
        let daemon = try await DaemonProcess.ready(root)
        try root.drop(String(repeating: "{\"type\": \"noop\"}\n", count: count), as: "lines.ndjson")
        try await daemon.waitUntilSpoolIsEmpty(seconds: 900)
        peaks.append(try Self.peakMemory(of: daemon.child.processID))
        let result = try await root.sql("SELECT count(*), count(DISTINCT id) FROM Job WHERE state = 'completed'")
        #expect(result == "\(count)|\(count)")
        let end = try await daemon.stop()
        #expect(end == .exited(code: 0))
        figures.jobs += count
      }
      #expect(peaks[1] < 2 * peaks[0], "\(peaks) kB")
      figures.faults = 1
      figures.struck = 1
      figures.tell("\(peaks[0] >> 10) and \(peaks[1] >> 10) MB of memory")
    }

    /// In kilobytes.
    private static func peakMemory(of process: Int32) throws -> Int {
      let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
      let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
      return try #require(Int(line.filter(\.isNumber)))
    }
  }
}
