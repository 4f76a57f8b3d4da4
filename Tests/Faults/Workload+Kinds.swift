import DaemonTesting
import Foundation
import SystemSupport

extension Workload {
  mutating func files(_ kind: Kind, _ root: DaemonRoot) throws -> [ExpectedFile] {
    number += 1
    let id = "\(prefix)-\(number)"
    switch kind {
    case .noop: return [file(id, [noop(id)])]
    case .table: return [file(id, [try table(id, root)])]
    case .picture: return [file(id, [picture(id)])]
    case .badTable: return [file(id, [try badTable(id, root)])]
    case .slowPicture: return [file(id, [slowPicture(id)])]
    case .chain:
      let (first, second, third) = (noop(id + "a"), try table(id + "b", root), noop(id + "c"))
      return [file(id, [first, second.after(first), third.after(first, second)])]
    case .brokenChain:
      let (first, second, third) = (try badTable(id + "a", root), noop(id + "b"), noop(id + "c"))
      return [file(id, [first, second.after(first), third.afterAny(first)])]
    case .batch: return [batch(id, try (0..<4).map { try $0 == 0 ? table(id + "m0", root) : noop(id + "m\($0)") })]
    case .scheduled: return [file(id, [scheduled(id)])]
    case .program:
      let program = TestProgram.allCases.randomElement(using: &random) ?? .good
      return [file(id, [program.job(id)])]
    case .unnamed:
      let job = ExpectedJob(id: id + Self.unnamed, isNamed: false)
      return [ExpectedFile(name: FileName("\(job.id).json"), text: #"{"type": "noop"}"#, jobs: [job])]
    case .laterName:
      let (first, second) = (try table(id + "a", root), noop(id + "b"))
      // The one that waits comes first, and may be accepted in another run than the one that it waits for.
      return [file(id + "b", [second.after(first)]), file(id + "a", [first])]
    }
  }

  /// How names of files end whose job has no ID: the daemon makes one of the file, to know it again.
  static let unnamed = "-unnamed"

  private mutating func file(_ name: String, _ jobs: [JobDraft]) -> ExpectedFile {
    let jobs = jobs.map { inSomeQueue($0) }
    let texts = jobs.map { "{\($0.text)}" }.joined(separator: ", ")
    let text = jobs.count == 1 ? texts : #"{"jobs": [\#(texts)]}"#
    return ExpectedFile(name: FileName("\(name).json"), text: text, jobs: jobs.map(\.job))
  }

  private mutating func batch(_ id: String, _ members: [JobDraft]) -> ExpectedFile {
    let members = members.map { inSomeQueue($0) }
    var callback = ExpectedJob(id: id + "end")
    callback.after = members.map(\.job.id)
    let text = """
      {"jobs": [\(members.map { "{\($0.text)}" }.joined(separator: ", "))],
       "callback": {"type": "noop", "id": "\(callback.id)"}}
      """
    return ExpectedFile(name: FileName("\(id).json"), text: text, jobs: members.map(\.job) + [callback])
  }

  private mutating func inSomeQueue(_ job: JobDraft) -> JobDraft {
    queues.randomElement(using: &random).map(job.inQueue) ?? job
  }

  private func noop(_ id: String) -> JobDraft {
    JobDraft(text: #""type": "noop", "id": "\#(id)""#, job: ExpectedJob(id: id))
  }

  private mutating func scheduled(_ id: String) -> JobDraft {
    // Whole milliseconds, as the file has them.
    let time = ((Date().timeIntervalSince1970 + .random(in: 0.05...0.6, using: &random)) * 1000).rounded(.down) / 1000
    let text = Date(timeIntervalSince1970: time).formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    var job = ExpectedJob(id: id)
    job.notBefore = time - 0.002
    return JobDraft(text: #""type": "noop", "id": "\#(id)", "notBefore": "\#(text)""#, job: job)
  }

  private mutating func table(_ id: String, _ root: DaemonRoot) throws -> JobDraft {
    var job = ExpectedJob(id: id)
    job.rows = Int.random(in: 1...40, using: &random)
    return JobDraft(text: try importing(id, job.rows, "", root), job: job)
  }

  /// The last row does not fit the model.
  private mutating func badTable(_ id: String, _ root: DaemonRoot) throws -> JobDraft {
    let text = try importing(id, .random(in: 0...20, using: &random), "\(id),many\n", root)
    return JobDraft(text: text, job: ExpectedJob(id: id, outcomes: ["discarded"]))
  }

  private func importing(_ id: String, _ count: Int, _ end: String, _ root: DaemonRoot) throws -> String {
    try root.payload("\(id).csv", "job,number\n" + (0..<count).map { "\(id),\($0)\n" }.joined() + end)
    return #""type": "import", "id": "\#(id)", "arguments": {"input": "\#(id).csv", "entity": "Reading"}"#
  }

  private func picture(_ id: String) -> JobDraft {
    let text = #"""
      "type": "image.encode", "id": "\#(id)", "arguments": {"input": "in.jpg", "store": {"title": "\#(id)"},
        "outputs": [{"path": "\#(id).png", "width": 40}, {"path": "\#(id)-small.png", "width": 8}]}
      """#
    var job = ExpectedJob(id: id)
    job.pictures = ["\(id).png", "\(id)-small.png"]
    job.isKept = true
    return JobDraft(text: text, job: job)
  }

  /// Takes longer than it may, twice.
  private func slowPicture(_ id: String) -> JobDraft {
    let text = #"""
      "type": "image.encode", "id": "\#(id)", "timeout": "1ms", "maxAttempts": 2,
      "backoff": {"kind": "fixed", "base": "50ms"},
      "arguments": {"input": "in.jpg", "outputs": [{"path": "\#(id).png", "width": 3000, "enlarge": true}]}
      """#
    return JobDraft(text: text, job: ExpectedJob(id: id, outcomes: ["discarded"]))
  }
}
