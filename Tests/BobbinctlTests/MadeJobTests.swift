import Foundation
import HTTPService
import JSONText
import TestSupport
import Testing

@testable import bobbinctl

@Suite("Commands that make jobs")
struct MadeJobTests {
  /// The keys in the tables of a page, from one heading to another.
  private func keys(in page: String, from start: String, to end: String) throws -> [String] {
    let text = try String(contentsOf: RepositoryPaths.root.appending(path: "Documentation/\(page)"), encoding: .utf8)
    let section = try #require(
      text.components(separatedBy: start).dropFirst().first?.components(separatedBy: end).first)
    return section.split(separator: "\n").filter { $0.hasPrefix("| `") }.flatMap { row in
      row.split(separator: "|")[0].matches(of: /`(\w+)`/).map { String($0.output.1) }
    }
  }

  @Test("Each argument of a job that fits a command line has an option")
  func options() throws {
    let image = try keys(in: "Images.md", from: "## A job", to: "### Result")
    let encode = Set(EncodeCommand.outputKeys.map(\.key) + EncodeCommand.jobKeys.map(\.key))
    #expect(Set(image).subtracting(encode) == ["input", "outputs", "path", "store", "placeholder"])
    #expect(encode.isSubset(of: image))
    let records = try keys(in: "JobFile.md", from: "## `import`", to: "## `noop`")
    let imports = Set(ImportCommand.keys.map(\.key))
    #expect(Set(records).subtracting(imports) == ["input", "columns", "rules", "values", "onTooManyRejects"])
    #expect(imports.isSubset(of: records))
  }

  @Test("Options of an import become arguments, and files with a key come one after the other")
  func arguments() async throws {
    let daemon = try TestDaemon("{}")
    let (first, second) = (try daemon.file("1.csv", "id\n"), try daemon.file("2.csv", "id\n"))
    let run = try await daemon.run(
      "import", first, second, "--entity=Person", "--key=id", "--key", "day", "--separator=tab", "--quote=none",
      "--header", "YES", "--skip-lines=2", "--max-rejects", "5%", "--column", "Full = Name=name", "--trial",
      "--ragged-rows=fit", "--priority=-3", "--batch", "b", "--dry-run")
    #expect(run.code == 0 && run.errors == "")
    #expect(daemon.requests == [])
    let arguments = { (file: String) in
      #"{"input":"\#(file)","entity":"Person","key":["id","day"],"maxRejects":"5%","dryRun":true,"separator":"\t","#
        + #""quote":null,"skipLines":2,"header":true,"raggedRows":"fit","mode":"update","columns":{"Full = Name":"name"}}"#
    }
    let text = try JSONValue(parsing: Array(run.output.utf8)).serialized()
    #expect(
      text == ##"{"batch":"b","jobs":[{"type":"import","id":"#1","arguments":\##(arguments(first)),"priority":-3},"##
        + ##"{"type":"import","id":"#2","after":"#1","arguments":\##(arguments(second)),"priority":-3}]}"##)
  }

  @Test("On a terminal a missing model is offered, and made in the working directory for a yes")
  func offer() async throws {
    let daemon = try TestDaemon(#"{"entities": []}"#)
    let file = try daemon.file("people.csv", "id;name\n1;Ada\n")
    let program = try RepositoryPaths.executable("bobbinctl").path(percentEncoded: false)
    let command = "cd '\(daemon.root.path)' && '\(program)' --root . import people.csv --entity Person --separator ';'"
    for answer in ["n", "y"] {
      let run = try await TestSupport.Tool.run(
        "/usr/bin/script", ["-q", "-e", "-c", command, "/dev/null"], input: answer + "\n")
      #expect(run.code == 65, "\(run.output)")
      #expect(run.output.contains("make a model for \(file) in this folder? [y/N]"), "\(run.output)")
      let isMade = FileManager.default.fileExists(atPath: daemon.root.path("Person.xcdatamodeld"))
      #expect(isMade == (answer == "y"), "\(run.output)")
      #expect(run.output.contains("copy it into ./etc/models"), "\(run.output)")
    }
    #expect(daemon.requests == ["GET /v1/entities", "GET /v1/entities"])
  }
}
