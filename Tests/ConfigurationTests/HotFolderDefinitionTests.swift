import FoundationEssentials
import Testing

@testable import Configuration

@Suite("Hot folder definitions")
struct HotFolderDefinitionTests {
  private static let least = "[Folder]\nPath=/srv/in\nJob=/etc/a.json5\n"

  private func problems(_ text: String, name: String = "scans") throws -> [String] {
    let folder = try TemporaryFolder()
    try folder.write(text, to: "\(name).conf")
    do throws(ConfigurationError) {
      _ = try HotFolderDefinition.load(folder: folder.path)
      return []
    } catch {
      return error.problems.map { problem in
        problem.description.replacing(folder.path + "/", with: "")
      }
    }
  }

  @Test("Path and template are enough; everything else has its default")
  func least() throws {
    let (definition, problems) = HotFolderDefinition.parse(Array(Self.least.utf8), file: "/etc/folders.d/scans.conf")
    #expect(problems.isEmpty)
    #expect(definition.name == "scans" && definition.path == "/srv/in" && definition.job == "/etc/a.json5")
    #expect(definition.patterns.isEmpty && definition.settle == .seconds(1) && !definition.isRecursive)
    #expect(definition.afterwards == .keep && definition.queue == nil)
  }

  @Test("Every key is read")
  func everyKey() throws {
    let text =
      Self.least + """
        Path=/srv/scans//
        Pattern=*.jpg "two words*"
        Pattern=*.png
        Settle=5s
        Recursive=yes
        Afterwards=move
        Done=/srv/done/
        Failed=/srv/failed
        Queue=scans

        """
    let (definition, problems) = HotFolderDefinition.parse(Array(text.utf8), file: "a.conf")
    #expect(problems.isEmpty)
    #expect(definition.path == "/srv/scans" && definition.done == "/srv/done" && definition.failed == "/srv/failed")
    #expect(definition.patterns == ["*.jpg", "two words*", "*.png"])
    #expect(definition.settle == .seconds(5) && definition.isRecursive && definition.afterwards == .move)
    #expect(definition.queue == "scans")
    #expect(Set(definition.assignments.keys) == Set(HotFolderDefinition.keys.map(\.name)))
  }

  @Test(
    "Each mistake is told with file, line and key, and with what is allowed",
    arguments: [
      ("Path=in", "scans.conf:4: [Folder] Path=in: expected an absolute path"),
      ("Pattern=a/b", "scans.conf:4: [Folder] Pattern=a/b: expected patterns of file names, such as *.jpg *.png"),
      (
        "Settle=2h",
        "scans.conf:4: [Folder] Settle=2h: expected a time span from 0s to 1h, such as 250ms, 5s or 1h 30min"
      ),
      ("Afterwards=burn", "scans.conf:4: [Folder] Afterwards=burn: expected one of keep, move, delete"),
      ("Patern=*", "scans.conf:4: [Folder] Patern=*: unknown key; did you mean Pattern?"),
      (
        "Afterwards=move", "scans.conf:4: [Folder] Afterwards=move: needs Done=, the folder that files move to"
      ),
      ("Done=/x", "scans.conf:4: [Folder] Done=/x: needs Afterwards=move"),
      ("Failed=/x", "scans.conf:4: [Folder] Failed=/x: needs Afterwards=move or Afterwards=delete"),
      (
        "Afterwards=delete\nFailed=/srv/in/x\nRecursive=yes",
        "scans.conf:5: [Folder] Failed=/srv/in/x: lies in the hot folder itself, whose files become jobs; choose another one"
      ),
      ("Job=", "scans.conf: [Folder] Job: is missing, but required"),
      ("[Handler]\nType=a", "scans.conf:4: [Handler]: unknown section; a hot folder's file has the section [Folder]"),
    ])
  func mistakes(text: String, expected: String) throws {
    #expect(try problems(Self.least + text + "\n") == [expected])
  }

  @Test("A folder for finished files may lie in one whose inner folders don't count")
  func innerFolder() throws {
    #expect(try problems(Self.least + "Afterwards=move\nDone=/srv/in/done\n").isEmpty)
  }

  @Test("The name of the file is the hot folder's, and becomes a part of IDs")
  func name() throws {
    #expect(
      try problems(Self.least, name: "a b") == [
        "a b.conf: the file's name is the hot folder's; give it one of letters, digits, dots, hyphens and underscores"
      ])
  }

  @Test("The sample holds every key, in order, with its default")
  func sample() throws {
    let url = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../etc/folders.d/folder.conf.sample")
    let text = try String(contentsOf: url.standardized, encoding: .utf8)
    let lines = text.split(separator: "\n").map {
      $0.hasPrefix("#") && !$0.hasPrefix("# ") && $0 != "#" ? $0.dropFirst() : $0
    }
    let (sample, problems) = HotFolderDefinition.parse(Array(lines.joined(separator: "\n").utf8), file: "a.conf")
    #expect(problems.isEmpty)
    #expect(sample.settle == .seconds(1) && !sample.isRecursive && sample.afterwards == .keep)
    let keys = lines.filter { !$0.hasPrefix("#") && $0.contains("=") }.map { String($0.prefix { $0 != "=" }) }
    #expect(keys == HotFolderDefinition.keys.map(\.name))
  }
}
