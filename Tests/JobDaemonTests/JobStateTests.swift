import Jobs
import ObjectGraph
import Testing

@testable import JobDaemon

@Suite("A job's states")
struct JobStateTests {
  @Test("What is over stays over, and everything else can end")
  func successors() {
    for state in JobState.allCases {
      #expect(state.isFinal == state.successors.isEmpty)
      #expect(!state.successors.contains(state))
      if !state.isFinal { #expect(state.successors.isSuperset(of: [.completed, .discarded])) }
    }
  }

  @Test("A move that is not allowed traps")
  func illegalMove() async {
    await #expect(processExitsWith: .failure) {
      let fixture = try WriterFixture()
      fixture.main.performAndWait { context in
        let job = Job(context: context)
        job.currentState = .completed
        job.currentState = .available
      }
    }
  }
}
