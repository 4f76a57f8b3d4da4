import SystemSupport
import Testing

@testable import JobDaemon

@Suite("What is to be looked at in new/")
struct PendingNamesTests {
  @Test("Names come out in order, in batches, and what was put back comes first")
  func order() {
    var names = PendingNames(limit: 10)
    for name in ["a", "b", "c", "d"] as [FileName] { names.add(name, .event) }
    #expect(names.popFirst(3).map(\.name) == ["a", "b", "c"])
    names.putBack([PendingNames.Sighted(name: "c", sighting: .event)])
    names.add(scanned: ["e"])
    #expect(names.popFirst(10).map(\.name) == ["c", "d", "e"])
    #expect(names.isEmpty)
    #expect(!names.needsScan)
  }

  @Test("More names than there is room for are forgotten, and a scan is wanted, once")
  func bound() {
    var names = PendingNames(limit: 3)
    for number in 0..<1_000 { names.add(FileName("\(number)"), .event) }
    #expect(names.popFirst(1_000).count == 3)
    let wanted = [names.beginScan(), names.beginScan()]
    #expect(wanted == [true, false])
  }

  @Test("Names that are forgotten in a pause are found by a scan")
  func pause() {
    var names = PendingNames()
    names.forget()
    #expect(!names.needsScan)
    names.add("a", .event)
    names.forget()
    #expect(names.isEmpty)
    #expect(names.needsScan)
  }

  @Test("A file that is open is looked at six times more, ever later, and anew after an event")
  func unfinished() {
    var files = UnfinishedFiles()
    func delays() -> [Int] { (0..<8).compactMap { _ in files.delay(for: "a") } }
    #expect(Array(delays().prefix(6)) == [5, 20, 80, 320, 1280, 5120])
    files.forget("a")
    for _ in 0..<6 {
      #expect(!files.isLast("a"))
      _ = files.delay(for: "a")
    }
    #expect(files.isLast("a"))
    let last = files.delay(for: "a")
    #expect(last == nil)
  }

  @Test("Open files beyond a number are not remembered")
  func unfinishedBound() {
    var files = UnfinishedFiles()
    for number in 0..<UnfinishedFiles.limit { _ = files.delay(for: FileName("\(number)")) }
    let delays = [files.delay(for: "one more"), files.delay(for: "0")]
    #expect(delays == [nil, 20])
    #expect(files.isFull)
  }
}
