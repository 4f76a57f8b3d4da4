import Fleet
import Foundation
import JSONText
import Jobs
import SystemSupport
import TestSupport
import Testing

@testable import Configuration
@testable import JobDaemon

/// Where jobs of a fleet run whose files not all hosts see, and what goes along with them.
@Suite("Files of jobs of a fleet")
struct LocalFilesTests {
  /// Reads the files of `in`, and writes those of `out`.
  private struct Handler: JobHandler {
    let type = "work"
    func validate(_ arguments: JSONValue) throws(JobFileError) {}
    func run(_ execution: JobExecution) async throws -> JSONValue { .null }
    func paths(in arguments: JSONValue) -> [String] {
      inputs(in: arguments) + (arguments["out"]?.array ?? []).compactMap(\.string)
    }
    func inputs(in arguments: JSONValue) -> [String] { (arguments["in"]?.array ?? []).compactMap(\.string) }
  }

  private let folder: TemporaryDirectory
  private static let spool = "ash:/var/spool/bobbin"

  init() throws {
    folder = try TemporaryDirectory()
    for (name, size) in [("a", 3), ("b", 4), ("large", 20)] {
      try Data(repeating: 7, count: size).write(to: URL(filePath: folder.path(name)))
    }
  }

  private func files(shared: [String] = [], copied: Int = 10, domain: String = "") -> LocalFiles {
    var configuration = Configuration.Fleet()
    configuration.sharedFolders = shared
    configuration.copiedInputSize = copied
    configuration.userDomain = domain
    return LocalFiles(
      configuration: configuration, handlers: HandlerTable([Handler()]), payloadDirectory: folder.path,
      spool: Self.spool)
  }

  private func job(in inputs: [String] = [], out outputs: [String] = []) -> JobSpecification {
    var job = JobSpecification(type: "work")
    job.arguments = .object([
      "in": .array(inputs.map { .string($0) }), "out": .array(outputs.map { .string($0) }),
    ])
    return job
  }

  @Test("A job runs where its files are, unless all lie in shared folders, which nobody climbs out of")
  func places() {
    let cases: [(job: JobSpecification, isBound: Bool)] = [
      (job(), false), (job(in: ["/shared/a"]), false), (job(in: ["/shared/a"], out: ["/shared/deep/er/b"]), false),
      (job(in: ["/shared/a"], out: ["/elsewhere/b"]), true), (job(in: ["/sharedtoo/a"]), true),
      (job(in: ["/shared"]), true), (job(in: ["/shared/../etc/a"]), true), (job(in: ["a"]), true),
    ]
    for shared in ["/shared", "/shared/"] {
      for (job, isBound) in cases {
        #expect(
          files(shared: ["/other", shared]).place(of: job) == (isBound ? Self.spool : nil),
          "\(job.arguments.serialized())")
      }
    }
    #expect(files(shared: [folder.path]).place(of: job(in: ["a"])) == nil, "payload/ may be shared")
    #expect(files(shared: [folder.path]).place(of: job(in: ["../a"])) == Self.spool)
    var placed = job(in: ["a"])
    placed.place = "disk"
    #expect(files().place(of: placed) == "disk at \(Self.spool)")
    #expect(files().place(of: placed, isCopied: true) == "disk")
    #expect(files(shared: ["/shared"], domain: "x").place(of: job(in: ["/shared/a"])) == "users of x")
    #expect(files(domain: "x").place(of: job()) == nil)
  }

  @Test("Small inputs go along, if nothing else keeps a job here, and as they are when it is accepted")
  func copies() throws {
    func copied(_ job: JobSpecification, limit: Int = 100, _ files: LocalFiles? = nil) -> [String]? {
      (files ?? self.files()).copies(for: job, submitter: Credentials.effectiveUser, limit: limit)?
        .map { "\($0.path) \($0.content.count)" }
    }
    #expect(copied(job(in: ["b", "a", "a"])) == ["a 3", "b 4"], "each once")
    #expect(copied(job(in: [folder.path("a")])) == [folder.path("a") + " 3"])
    #expect(copied(job(in: ["a", "/shared/c"]), files(shared: ["/shared"])) == ["a 3"], "others see that one")
    #expect(copied(job(in: ["a"], out: ["o"])) == nil, "its output is wanted here")
    #expect(copied(job(in: ["large"])) == nil)
    #expect(copied(job(in: ["a", "b"]), limit: 6) == nil, "together they are too large")
    #expect(copied(job(in: ["a", "b"]), limit: 7) != nil)
    #expect(copied(job(in: ["a"]), files(copied: 0)) == nil)
    #expect(copied(job(in: ["absent"])) == nil, "its handler tells that")
    #expect(copied(job()) == nil)
    let waits: [(inout JobSpecification) -> Void] = [
      { $0.notBefore = Date(timeIntervalSinceNow: 60) }, { $0.after = ["x"] }, { $0.afterAny = ["x"] },
      { $0.afterBatch = "x" },
    ]
    for wait in waits {
      var waiting = job(in: ["a"])
      wait(&waiting)
      #expect(copied(waiting) == nil, "its input may change until it runs")
    }
  }
}
