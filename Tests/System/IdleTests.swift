import DaemonTesting
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("An idle daemon")
  struct Idle {
    @Test("does nothing by itself: none of its threads is woken")
    func quiet() async throws {
      let root = try DaemonRoot()
      try root.write(try await TestPicture.jpeg(), to: root.paths.payload + "/in.jpg")
      try root.payload("rows.csv", "job,number\nx,1\n")
      let daemon = try await DaemonProcess.ready(root)
      let jobs = """
        {"jobs": [{"type": "noop"}, \(TestModel.importJob("rows", "rows.csv")), {"type": "image.encode",
        "arguments": {"input": "in.jpg", "outputs": [{"path": "out.webp", "width": 8}]}}]}
        """
      let done = try await daemon.submit(jobs)
      #expect(done.map { $0["state"]?.string } == ["completed", "completed", "completed"])
      // Five seconds after the last write memory is given back, and Dispatch ends a thread that had nothing to do for
      // five seconds.
      try await pass(milliseconds: 13_000)
      let before = try switches(daemon.child.processID)
      try await pass(milliseconds: 3000)
      let after = try switches(daemon.child.processID)
      let woken = after.filter { $0.value != before[$0.key] }
      #expect(Set(after.keys) == Set(before.keys))
      #expect(woken.isEmpty, "\(woken) of \(before)")
    }

    /// Lets time pass; nothing could be waited for, as nothing must happen.
    private func pass(milliseconds: Int32) async throws {
      try await onThread { _ = poll(nil, 0, milliseconds) }
    }

    /// How often each thread of a process was switched to or from.
    private func switches(_ process: Int32) throws -> [String: Int] {
      let tasks = "/proc/\(process)/task"
      var counts: [String: Int] = [:]
      for task in try FileManager.default.contentsOfDirectory(atPath: tasks) {
        let status = try String(contentsOfFile: "\(tasks)/\(task)/status", encoding: .utf8)
        let name = status.split(separator: "\n").first ?? ""
        counts["\(task) \(name)"] = status.split(separator: "\n").filter { $0.contains("ctxt_switches") }
          .compactMap { Int($0.split(separator: "\t").last ?? "") }.reduce(0, +)
      }
      return counts
    }
  }
}
