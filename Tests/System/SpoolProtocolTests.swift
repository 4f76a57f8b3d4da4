import DaemonTesting
import Foundation
import Glibc
import JSONText
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("The spool's protocol")
  struct SpoolProtocol {
    private static func job(_ id: String) -> Data { Data(#"{"type": "noop", "id": "\#(id)"}"#.utf8) }

    /// Waits until a good file is done; what was seen before it has been looked at then.
    private func waitForGood(_ daemon: DaemonProcess, _ id: String = "good") async throws {
      try daemon.root.drop(Self.job(id), as: FileName(id + ".json"))
      try await daemon.wait { daemon in
        try !daemon.root.newFiles.contains(FileName(id + ".json")) && daemon.root.currentFiles.isEmpty
      }
    }

    private func states(_ root: DaemonRoot) async throws -> String {
      try await root.sql("SELECT id, state FROM Job ORDER BY id")
    }

    /// Events that the kernel keeps for a watch before it says that it lost some.
    private static func queueLimit() throws -> Int {
      let text = try String(contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8)
      return try #require(Int(text.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    /// How a file comes to be found while its writer has it open.
    enum Discovery: String, CaseIterable {
      case made, renamedIn, renamedThere, atTheStart, replaced
    }

    @Test("A file that is open for writing is read when it is closed, not before", arguments: Discovery.allCases)
    func openFile(discovery: Discovery) async throws {
      let root = try DaemonRoot()
      let (new, temporary) = (root.paths.spoolNew, root.paths.spoolTemporary)
      let text = Self.job("open")
      var daemon: DaemonProcess?
      if discovery != .atTheStart { daemon = try await DaemonProcess.ready(root) }
      let made = discovery == .renamedIn ? temporary + "/open.json" : new + "/open.json"
      let file = try FileDescriptor.open(made, .creating, mode: 0o644)
      try file.writeAll(text.prefix(10))
      switch discovery {
      case .made, .atTheStart: break
      case .renamedIn: try #require(rename(made, new + "/open.json") == 0)
      case .renamedThere: try #require(rename(made, new + "/other.json") == 0)
      case .replaced:
        try #require(rename(new, root.paths.spool + "/old") == 0 && mkdir(new, 0o777) == 0)
        try #require(rename(root.paths.spool + "/old/open.json", new + "/open.json") == 0)
      }
      let running: DaemonProcess
      if let daemon { running = daemon } else { running = try await DaemonProcess.ready(root) }
      // Two rounds, the second after the looks that follow the first sight of an open file have begun.
      for id in ["good", "more"] { try await waitForGood(running, id) }
      let name: FileName = discovery == .renamedThere ? "other.json" : "open.json"
      #expect(try root.newFiles == [name])
      try file.writeAll(text.dropFirst(10))
      try file.close()
      try await running.waitUntilSpoolIsEmpty()
      #expect(try await states(root) == "good|completed\nmore|completed\nopen|completed")
      #expect(try root.failedFiles == [])
      #expect(try await running.stop() == .exited(code: 0))
    }

    @Test("A file that is removed while it is being written leaves no trace")
    func removed() async throws {
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root)
      let file = try FileDescriptor.open(root.paths.spoolNew + "/gone.json", .creating)
      try file.writeAll(Self.job("gone"))
      try await waitForGood(daemon)
      try #require(unlink(root.paths.spoolNew + "/gone.json") == 0)
      try file.close()
      try await waitForGood(daemon, "more")
      #expect(try await states(root) == "good|completed\nmore|completed")
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test(
      "20,000 files at once, more than the kernel's events, are all taken; one that is open then waits for its close")
    func burst() async throws {
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root)
      try daemon.child.kill(SIGSTOP)
      // A signal to stop takes until the disk has answered.
      let id = daemon.child.processID
      try await onThread {
        var info = siginfo_t()
        try #require(waitid(P_PID, id_t(id), &info, WSTOPPED | WNOWAIT) == 0)
      }
      let new = root.paths.spoolNew
      let open = try FileDescriptor.open(new + "/5000.json", .creating, mode: 0o644)
      try open.writeAll(Data(#"{"type": "noop", "#.utf8))
      for number in 0..<20_000 where number != 5_000 {
        try FileDescriptor.open("\(new)/.hidden", .creatingExclusively, mode: 0o644).writeAll(Self.job("\(number)"))
        try #require(rename("\(new)/.hidden", "\(new)/\(number).json") == 0)
      }
      try daemon.child.kill(SIGCONT)
      try await daemon.wait(seconds: 120) { try $0.root.newFiles == ["5000.json"] && $0.root.currentFiles.isEmpty }
      try open.writeAll(Data(#""id": "5000"}"#.utf8))
      try open.close()
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(
        try await root.sql("SELECT count(*), count(DISTINCT id) FROM Job WHERE state = 'completed'") == "20000|20000")
      // Each file but the open one was created, closed and renamed.
      if try Self.queueLimit() < 50_000 { #expect(daemon.logText.contains("overflow")) }
      #expect(try root.failedFiles == [])
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("A name of any bytes is taken if the file is good, and kept with its reason if it is not")
    func names() async throws {
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root)
      let names: [FileName] = [
        "a\nb", "\u{1b}[2J", "-rf", FileName(bytes: [0xff, 0xfe, 0x80]), " ", "ünï.json",
        FileName(bytes: [UInt8](repeating: 0x78, count: 255)), FileName(bytes: [UInt8](repeating: 0xc3, count: 255)),
      ]
      for (number, name) in names.enumerated() { try root.drop(Self.job("\(number)"), as: name) }
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try await root.sql("SELECT count(*) FROM Job WHERE state = 'completed'") == "\(names.count)")
      for name in names { try root.drop("", as: name) }
      try await daemon.waitUntilSpoolIsEmpty()
      let failed = Set(try root.failedFiles)
      #expect(failed.count == 2 * names.count)
      for name in names {
        #expect(failed.contains(name))
        let kept = name.bytes.count < 250 ? name : FileName(bytes: name.bytes.prefix(248))
        #expect(try root.reason(kept) == "\(name): the file is empty\n")
      }
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("Refused files of one name are all kept, each with its reason")
    func collisions() async throws {
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root)
      for name in ["same.json", FileName(bytes: [UInt8](repeating: 0x78, count: 255))] as [FileName] {
        for _ in 0..<12 {
          try root.drop("", as: name)
          try await daemon.waitUntilSpoolIsEmpty()
        }
      }
      let failed = try root.failedFiles
      #expect(failed.count == 48)
      let reasons = failed.filter { $0.description.hasSuffix(".reason") }
      #expect(reasons.count == 24)
      #expect(failed.contains("same.json.9.reason"))
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("failed/ keeps as many files as it may, and the number is obeyed while the daemon runs")
    func failedCount() async throws {
      let root = try DaemonRoot(DaemonRoot.quickFlushes + "[Spool]\nFailedCount=5\n")
      for number in 0..<3 { try root.drop("", as: FileName("first\(number)")) }
      let daemon = try await DaemonProcess.ready(root)
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try root.failedFiles.count == 6)
      for number in 0..<200 { try root.drop("", as: FileName("more\(number)")) }
      try await daemon.waitUntilSpoolIsEmpty()
      try await daemon.waitForLog("old files from failed/")
      try await daemon.wait { try $0.root.failedFiles.count <= 2 * 105 }
      #expect(try await daemon.stop() == .exited(code: 0))
      // A start looks through it.
      let again = try await DaemonProcess.ready(root)
      try await again.wait { try $0.root.failedFiles.count == 10 }
      #expect(try await again.stop() == .exited(code: 0))
    }

    @Test("A file that repeats a job at work leaves with it, and the log says so")
    func duplicate() async throws {
      let root = try DaemonRoot()
      try root.drop(Self.job("same"), as: "first.json")
      try root.drop(Self.job("same"), as: "second.json")
      let daemon = try await DaemonProcess.ready(root)
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try await states(root) == "same|completed")
      #expect(daemon.logText.contains("second.json repeats known jobs, which are not run again: same"))
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("That a file repeats a job at work is not told again at each start")
    func duplicateAtStart() async throws {
      let root = try DaemonRoot()
      let held = #"{"type": "noop", "id": "same", "notBefore": "2100-01-01T00:00:00Z"}"#
      for name in ["first.json", "second.json"] as [FileName] { try root.drop(held, as: name) }
      let daemon = try await DaemonProcess.ready(root)
      try await daemon.waitForLog("second.json repeats known")
      #expect(try await daemon.stop() == .exited(code: 0))
      for _ in 0..<2 {
        let again = try await DaemonProcess.ready(root)
        try root.drop(#"{"type": "noop"}"#, as: "witness.json")
        try await again.wait { try $0.root.newFiles.isEmpty && $0.root.currentFiles.count == 2 }
        #expect(!again.logText.contains("repeats known"))
        #expect(try await again.stop() == .exited(code: 0))
      }
    }
  }
}
