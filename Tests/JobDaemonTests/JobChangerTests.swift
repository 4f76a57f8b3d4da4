import Testing

@testable import JobDaemon

@Suite("Whose jobs somebody may change")
struct JobChangerTests {
  private static let changers: [JobChanger] = [
    .owner, .controller(as: 1000), .controller(as: nil), .submitter(1000), .submitter(nil),
  ]

  @Test("Commands are for one's own jobs, and for those of all by who controls the daemon")
  func commands() {
    let may = Self.changers.map { changer in [1000, 1001, nil].map { changer.mayCommand(jobsOf: $0) } }
    let all = [true, true, true]
    #expect(may == [all, all, all, [true, false, false], [false, false, false]])
  }

  @Test("What a job does is for its submitter and the owner to say")
  func edits() {
    let may = Self.changers.map { changer in [1000, 1001, nil].map { changer.mayEdit(jobsOf: $0) } }
    let (own, none) = ([true, false, false], [false, false, false])
    #expect(may == [[true, true, true], own, none, own, none])
  }

  @Test("A selection of a submitter is narrowed to that user's jobs, and is empty if it names another")
  func selections() {
    var selection = JobSelection()
    selection.type = "import"
    var own = selection
    own.record.submitter = 1000
    var others = selection
    others.record.submitter = 1001
    for changer in Self.changers.prefix(3) {
      #expect(changer.part(of: selection) == selection && changer.part(of: others) == others)
    }
    #expect(JobChanger.submitter(1000).part(of: selection) == own)
    #expect(JobChanger.submitter(1000).part(of: own) == own)
    #expect(JobChanger.submitter(1000).part(of: others) == nil)
    #expect(JobChanger.submitter(nil).part(of: selection) == nil)
  }
}
