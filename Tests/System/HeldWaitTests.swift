import DaemonTesting
import Foundation
import JSONText
import TestSupport
import Testing

extension SystemTests {
  @Suite("Waiting for a job that is held")
  struct HeldWaits {
    /// Writes a job file and submits it with `--wait`.
    private func submit(_ daemon: DaemonProcess, _ text: String) async throws -> Tool {
      let path = daemon.root.directory.path + "/wait.json"
      try Data(text.utf8).write(to: URL(filePath: path))
      return try await daemon.tool("submit", "--wait=60", path)
    }

    @Test("ends once nothing else goes on, with the reason and what to do")
    func importHolds() async throws {
      let daemon = try await DaemonProcess.ready(try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n"))
      try daemon.root.payload("a.csv", "job,number\na,x\n")
      let text = """
        {"jobs": [
          {"type": "import", "id": "bad", "arguments": {"input": "\(daemon.root.paths.payload)/a.csv", "entity": "Reading", "onTooManyRejects": "hold"}},
          {"type": "noop", "id": "behind", "after": "bad"}, {"type": "noop", "id": "free"}
        ]}
        """
      // The second time they are repetitions of jobs that are there.
      for _ in 1...2 {
        let tool = try await submit(daemon, text)
        #expect(tool.code == 3, "\(tool.output)\(tool.errors)")
        #expect(tool.output.contains("held"))
        #expect(tool.output.contains("\"x\" is not a whole number; `bobbinctl release bad` releases it"))
        #expect(tool.output.contains("completed  free"))
      }
      let repeated = try await submit(daemon, #"{"type": "noop", "id": "free"}"#)
      #expect(repeated.code == 0)
      #expect(repeated.output.hasPrefix("completed  free  already known, nothing was run; "), "\(repeated.output)")
      let other = try await submit(
        daemon, #"{"type": "import", "id": "bad", "arguments": {"input": "/b.csv", "entity": "Reading"}}"#)
      #expect(other.code == 4, "\(other.errors)")
      let input = daemon.root.paths.payload + "/a.csv"
      #expect(other.errors.contains("\"input\" is \"\(input)\" there and \"/b.csv\" here"), "\(other.errors)")
      let early = daemon.root.directory.path + "/early.json"
      try Data(#"{"type": "noop", "id": "early", "after": ["free", "late"]}"#.utf8).write(to: URL(filePath: early))
      let told = try await daemon.tool("submit", early)
      #expect(try await daemon.tool("cancel", "early").code == 0)
      #expect(told.output.contains("waits for \"late\", which nobody has submitted yet"), "\(told.output)")
      #expect(try await daemon.tool("cancel", "bad").code == 0)
      try await daemon.waitUntilSpoolIsEmpty()
    }

    @Test("goes on while another job can, and ends when an operator holds that, too")
    func operatorHolds() async throws {
      let daemon = try await DaemonProcess.ready(try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n"))
      try daemon.root.payload("a.csv", "job,number\na,x\n")
      #expect(try await daemon.tool("pause", "--queue", "q").code == 0)
      async let waiting = submit(
        daemon,
        """
        {"jobs": [
          {"type": "import", "id": "bad", "arguments": {"input": "\(daemon.root.paths.payload)/a.csv", "entity": "Reading", "onTooManyRejects": "hold"}},
          {"type": "noop", "id": "kept", "queue": "q"}
        ]}
        """)
      try await daemon.waitForLog("was held")
      #expect(try await daemon.tool("hold", "kept").code == 0)
      let tool = try await waiting
      #expect(tool.code == 3, "\(tool.output)\(tool.errors)")
      #expect(tool.output.contains("`bobbinctl release kept`"))
    }
  }
}
