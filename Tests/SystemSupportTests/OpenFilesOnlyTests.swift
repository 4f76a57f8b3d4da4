import Glibc
import SystemSupport
import TestSupport
import Testing

@Suite("A process confined to its open files")
struct OpenFilesOnlyTests {
  @Test("Without capabilities root is a user like others")
  func capabilities() async {
    await #expect(processExitsWith: .success) {
      let file = try FileDescriptor.inMemory(named: "file")
      try Capabilities.drop()
      precondition(fchown(file.number, Glibc.geteuid() + 1, 1) == -1 && errno == EPERM)
      exit(0)
    }
  }

  @Test("It reads and writes what is open, starts threads, and can do nothing else")
  func confined() async throws {
    let tool = try await Tool.run("confined")
    #expect(tool.output == "done\n")
    #expect(tool.errors == "")
    #expect(tool.code == 0)
  }
}
