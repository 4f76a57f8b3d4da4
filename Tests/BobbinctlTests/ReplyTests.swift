import Foundation
import JSONText
import StatusReplies
import Testing

@Suite("Replies of the status interface")
struct ReplyTests {
  /// Decodes what the daemon would send.
  private func sent<Reply: Decodable>(_ document: JSONValue, as type: Reply.Type) throws -> Reply {
    try JSONDecoder().decode(type, from: Data(document.serializedBytes()))
  }

  @Test("A job is read as it was written, and what is missing is null")
  func job() throws {
    var reply = JobReply(id: "a", type: "import", state: .running, durable: false)
    reply.attempt = 2
    reply.createdAt = Timestamp(Date(timeIntervalSince1970: 1.5))
    reply.progress = JobReply.Progress()
    reply.progress?.done = 3
    reply.arguments = ["input": "a.csv"]
    #expect(reply.json["error"] == .null)
    #expect(reply.json["rejects"] == nil)
    #expect(reply.json["createdAt"] == "1970-01-01T00:00:01.500Z")
    #expect(reply.json["progress"]?["done"] == 3)
    #expect(reply.json["arguments"] == ["input": "a.csv"])
    let read = try sent(reply.json, as: JobReply.self)
    #expect(read.json["arguments"] == nil)
    #expect(read.id == "a" && read.state == .running && !read.durable && read.attempt == 2 && read.queue == nil)
    #expect(read.createdAt?.date == Date(timeIntervalSince1970: 1.5))
    #expect(read.progress?.done == 3)
  }

  @Test("Counts of progress are exact, also beyond what a Double holds", arguments: [(1 << 53) + 1, .max, 0])
  func counts(count: Int) throws {
    var reply = JobReply(id: "a", type: "import", state: .running, durable: false)
    reply.progress = JobReply.Progress()
    reply.progress?.done = count
    reply.progress?.total = count
    #expect(
      String(decoding: reply.json.serializedBytes(), as: UTF8.self).contains("\"done\":\(count),\"total\":\(count),"))
    let read = try sent(reply.json, as: JobReply.self)
    #expect(read.progress?.done == count && read.progress?.total == count)
  }

  @Test("The status and the outcomes of commands are read as they were written")
  func others() throws {
    var status = StatusReply(version: "1", state: "running")
    status.workers = .init(count: 2, busy: 1, abandoned: 0)
    status.jobs = ["running": 1]
    status.pauses = [.init(kind: "queue", name: "q")]
    let read = try sent(status.json, as: StatusReply.self)
    #expect(read.workers?.busy == 1 && read.jobs?["running"] == 1 && read.pauses?.first?.name == "q")
    #expect(read.writer?.flushes == nil)
    let outcome = CommandReply(done: 0, jobs: [.init(id: "a", result: .notPossible, state: .held, uniqueOwner: "b")])
    let job = try #require(try sent(outcome.json, as: CommandReply.self).jobs?.first)
    #expect(job.id == "a" && job.result == .notPossible && job.state == .held && job.uniqueOwner == "b")
    let why = try sent(WhyReply(id: "a", state: .held, reasons: ["it is held"]).json, as: WhyReply.self)
    #expect(why.reasons == ["it is held"])
  }
}
