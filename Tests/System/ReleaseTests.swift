import Foundation
import TestSupport
import Testing

extension SystemTests {
  @Suite("Released programs")
  struct ReleasedPrograms {
    @Test("Each program tells the version of the file VERSION, and what kind of build it is")
    func version() async throws {
      let file = RepositoryPaths.root.appending(path: "VERSION")
      let version = try String(contentsOf: file, encoding: .utf8).trimmingCharacters(in: .newlines)
      for program in ["bobbind", "bobbinctl", "bobbin-image"] {
        let run = try await Tool.run(program, ["--version"])
        #expect(run.code == 0)
        #expect(run.errors == "")
        #expect(run.output.hasPrefix("\(program) \(version) ("))
        #expect(run.output.hasSuffix(" build)\n"))
      }
    }

    @Test("A program that needs the toolchain's libraries is not installed, unlike one that needs the system's")
    func portable() async throws {
      let script = RepositoryPaths.root.appending(path: "scripts/check-portable").path(percentEncoded: false)
      let program = try RepositoryPaths.executable("bobbind").path(percentEncoded: false)
      let run = try await Tool.run(script, ["/usr/bin/env", program])
      #expect(run.code == 1)
      #expect(run.errors.hasPrefix("check-portable: \(program) needs libraries outside"))
      #expect(run.errors.contains("libswiftCore.so\n"))
      #expect(run.errors.contains("make build"))
      #expect(try await Tool.run(script, ["/usr/bin/env"]).code == 0)
    }
  }
}
