import Foundation
import Jobs
import TestSupport
import Testing

@Suite("A job's states")
struct JobStateTests {
  @Test("What is over stays over, unless somebody asks for another attempt")
  func over() {
    for state in JobState.allCases where state.isFinal {
      for event in JobEvent.allCases where event != .retried && event != .redriven {
        #expect(state.after(event) == nil, "\(state) after \(event)")
      }
    }
    #expect(JobState.quarantined.after(.retried) == nil)
    #expect(JobState.allCases.filter { $0.after(.redriven) != nil } == [.quarantined])
  }

  @Test("What is over without being completed is a failure; a state of a newer daemon is held")
  func failures() throws {
    #expect(JobState.allCases.filter(\.isFinal) == [.completed, .cancelled, .discarded, .quarantined])
    #expect(JobState.allCases.filter(\.isFailure) == [.cancelled, .discarded, .quarantined])
    let fixture = try WriterFixture()
    let states = fixture.main.performAndWait { context in
      let job = Job(context: context)
      return ["running", "dreaming"].map { name in
        job.state = name
        return job.currentState
      }
    }
    #expect(states == [.running, .held])
  }

  @Test("Every unfinished job can be cancelled, and held and released")
  func unfinished() {
    for state in JobState.allCases where !state.isFinal {
      #expect(state.after(.cancelled) == .cancelled)
      if state != .held { #expect(state.after(.held) == .held) }
    }
    #expect(JobState.held.after(.released) == .available)
  }

  @Test("Only a running job ends by itself, and every state can be reached from the first")
  func reachable() {
    for event in [JobEvent.succeeded, .failed, .gaveUp, .quarantined, .interrupted] {
      #expect(JobState.allCases.filter { $0.after(event) != nil } == [.running], "\(event)")
    }
    var reached: Set<JobState> = [.available, .scheduled, .waiting]
    for _ in JobState.allCases {
      for state in reached { reached.formUnion(JobEvent.allCases.compactMap(state.after)) }
    }
    #expect(reached.count == JobState.allCases.count)
  }

  @Test("The table in the documentation is the one in the code")
  func documented() throws {
    let page = try String(
      contentsOf: RepositoryPaths.root.appending(path: "Documentation/JobStates.md"), encoding: .utf8)
    for state in JobState.allCases {
      let moves = JobEvent.allCases.compactMap { event in
        state.after(event).map { "`\(event)` → `\($0)`" }
      }
      let row = "| `\(state)` | \(moves.isEmpty ? "nothing" : moves.joined(separator: ", ")) |"
      #expect(page.contains(row), "\(row)")
    }
  }
}
