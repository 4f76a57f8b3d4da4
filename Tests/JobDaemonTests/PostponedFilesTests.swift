import Foundation
import Jobs
import Testing

@testable import JobDaemon

@Suite("Files whose admission is tried again")
struct PostponedFilesTests {
  private var postponed = PostponedFiles()

  private func candidate(_ name: String) throws -> AdmissionCandidate {
    let data = Data(#"{"type": "noop"}"#.utf8)
    return AdmissionCandidate(
      file: ClaimedFile(name: .init(name), data: data, submitter: 0), contents: try JobFile(data))
  }

  @Test("A reason is told once, however often it comes again, also behind others, and so is the end of all")
  mutating func reasons() throws {
    #expect(postponed.add([try candidate("a")], because: "busy") == .init(triesAgain: true, tells: true))
    #expect(postponed.add([try candidate("b")], because: "busy") == .init(triesAgain: false, tells: false))
    for _ in 0..<3 {
      let files = postponed.removeAll()
      #expect(files.map(\.file.name) == ["a", "b"])
      #expect(postponed.add(files, because: "busy") == .init(triesAgain: true, tells: false))
      #expect(postponed.endTrouble() == false)
    }
    #expect(postponed.add([try candidate("c")], because: "full") == .init(triesAgain: false, tells: true))
    #expect(postponed.add([], because: "busy") == .init(triesAgain: false, tells: false))
    #expect(postponed.removeAll().count == 3)
    #expect(postponed.endTrouble() == true)
    #expect(postponed.endTrouble() == false)
    #expect(postponed.add([try candidate("d")], because: "full") == .init(triesAgain: true, tells: true))
  }
}
