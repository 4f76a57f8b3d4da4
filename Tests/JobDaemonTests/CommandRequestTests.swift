import JSONText
import Jobs
import ObjectGraph
import Testing

@testable import JobDaemon

@Suite("The body of a command")
struct CommandRequestTests {
  private func request(_ text: String) throws -> CommandRequest {
    try CommandRequest(try JSONValue(parsing: Array(text.utf8), dialect: .json), asker: "user 7")
  }

  @Test(
    "A selection has to say something, and nothing that is not known",
    arguments: [
      (#"{"command": "cancel", "where": {}}"#, "where"), (#"{"command": "cancel"}"#, "jobs"),
      (#"{"command": "cancel", "where": {"state": []}}"#, "state"),
      (#"{"command": "cancel", "where": {"state": "sleeping"}}"#, "available"),
      (#"{"command": "cancel", "where": {"state": ["held", 1]}}"#, "available"),
      (#"{"command": "cancel", "where": {"queu": "a"}}"#, "queu"),
      (#"{"command": "cancel", "jobs": ["a"], "where": {"queue": "a"}}"#, "where"),
      (#"{"command": "cancel", "jobs": [1]}"#, "jobs"), (#"{"command": "priority", "jobs": ["a"]}"#, "value"),
      (#"{"command": "priority", "value": 101, "jobs": ["a"]}"#, "value"), (#"{"command": "end", "jobs": []}"#, "end"),
      (#"{"command": "cancel", "jobs": ["a"], "reason": "a\u0000"}"#, "reason"),
      (#"{"command": "cancel", "jobs": ["a"], "reason": "\#(String(repeating: "a", count: 1_001))"}"#, "1000 bytes"),
    ])
  func refused(text: String, named: String) throws {
    let error = #expect(throws: JobFileError.self) { try request(text) }
    #expect(error?.description.contains(named) == true, "\(error?.description ?? "")")
  }

  @Test("States may be one or several")
  func states() throws {
    let one = try request(#"{"command": "hold", "where": {"state": "waiting", "type": "t"}}"#)
    #expect(one.target == .all(JobSelection(states: [.waiting], type: "t")))
    let two = try request(#"{"command": "hold", "where": {"state": ["waiting", "available"]}}"#)
    #expect(two.target == .all(JobSelection(states: [.waiting, .available])))
  }
}
