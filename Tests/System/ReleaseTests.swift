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

    @Test("What make install has put into a folder make uninstall takes away, but for the configuration")
    func uninstalled() async throws {
      let directory = try TemporaryDirectory()
      let (built, target) = (directory.path("built"), directory.path("target"))
      try FileManager.default.createDirectory(atPath: built, withIntermediateDirectories: true)
      for program in ["bobbind", "bobbinctl", "bobbin-image"] {
        try Self.write("#!/bin/sh\n", asProgram: "\(built)/\(program)")
      }
      func make(_ goal: String) async throws {
        let run = try await Tool.run(
          "/usr/bin/make",
          [
            "-C", RepositoryPaths.root.path(percentEncoded: false), goal, "DESTDIR=\(target)", "PREFIX=/usr",
            "BUILT=\(built)", "CHECK_PORTABLE=true",
          ])
        #expect(run.code == 0, "\(run.errors)")
      }
      func files() throws -> [String] { try FileManager.default.subpathsOfDirectory(atPath: target) }
      try await make("install")
      let installed = try files()
      #expect(Set(["usr/bin/bobbind", "usr/lib/systemd/system/bobbind.service"]).isSubset(of: installed))
      try await make("uninstall")
      let left = try files().filter { $0.contains("bobbin") }
      #expect(left.contains("etc/bobbin/bobbin.conf"))
      #expect(left.filter { !$0.hasPrefix("etc/bobbin") }.isEmpty)
    }

    private static func write(_ text: String, asProgram path: String) throws {
      try Data(text.utf8).write(to: URL(filePath: path))
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }

    @Test(
      "The page of a release tells what passed, what failed and what this machine could not check; only the first is good",
      arguments: [
        ("test-dist", "passed", "Everything passed.", true),
        ("test-packages", "**incomplete**", "- `test-packages`: check-packages: skipped: it needs root\n", false),
        ("test-system", "**failed** (2)", "1 of 1 targets failed", false),
      ])
    func page(target: String, result: String, end: String, isGood: Bool) async throws {
      let directory = try TemporaryDirectory()
      let files = FileManager.default
      try files.createDirectory(atPath: directory.path("scripts"), withIntermediateDirectories: true)
      for name in ["VERSION", "COMMIT", "scripts/release", "scripts/release-commit"] {
        let source = RepositoryPaths.root.appending(path: name).path(percentEncoded: false)
        try files.copyItem(atPath: source, toPath: directory.path(name))
      }
      try """
      test-dist:
      \t@echo all is built
      test-packages:
      \t@echo 'check-packages: skipped: it needs root'
      test-system:
      \t@echo 'a | bar'; exit 3

      """.write(toFile: directory.path("Makefile"), atomically: true, encoding: .utf8)
      let run = try await Tool.run(directory.path("scripts/release"), ["--short", "--only", target])
      #expect(run.code == (isGood ? 0 : 1), "\(run.errors)")
      let page = try String(contentsOfFile: directory.path(".build/packages/release.md"), encoding: .utf8)
      #expect(page.contains("\n| \(target) | \(result) | 0:0"), "\(page)")
      #expect(page.contains(end), "\(page)")
      #expect(try await Tool.run(directory.path("scripts/release"), ["--only", "nothing"]).code == 64)
    }

    @Test(
      "A container that does not boot is told and passed over, unless one is required", arguments: [false, true])
    func container(isRequired: Bool) async throws {
      let directory = try TemporaryDirectory()
      try Self.write("#!/bin/sh\necho no such system\nexit 1\n", asProgram: directory.path("systemd-nspawn"))
      let scripts = RepositoryPaths.root.appending(path: "scripts/container.bash").path(percentEncoded: false)
      try Self.write(
        "#!/bin/bash\nset -euo pipefail\n. '\(scripts)'\nboot_system\necho booted\n",
        asProgram: directory.path("check-it"))
      let run = try await Tool.run(
        directory.path("check-it"),
        environment: [
          "PATH": "\(directory.path):/usr/bin:/bin", "TMPDIR": directory.path,
          "BOBBIN_REQUIRE_CONTAINER": isRequired ? "1" : "",
        ])
      #expect(run.code == (isRequired ? 1 : 0))
      let message =
        isRequired
        ? "check-it: the container does not boot here; BOBBIN_REQUIRE_CONTAINER wants all checks done here\n"
        : "check-it: skipped: the container does not boot here\n"
      #expect((isRequired ? run.errors : run.output).hasSuffix(message), "\(run)")
      #expect(run.errors.contains("no such system"))
      #expect(!run.output.contains("booted"))
    }
  }
}
