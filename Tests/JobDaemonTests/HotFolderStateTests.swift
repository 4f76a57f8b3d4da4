import Dispatch
import Foundation
import SystemSupport
import TestSupport
import Testing

@testable import JobDaemon

@Suite("Hot folders' state")
struct HotFolderStateTests {
  private static let start = ContinuousClock.now
  private let path = InnerPath(names: ["a"])

  private func form(_ version: Int64) -> FileForm { FileForm(inode: 1, size: version, modificationTime: version) }

  private func at(_ milliseconds: Int) -> ContinuousClock.Instant { Self.start + .milliseconds(milliseconds) }

  @Test("A closed file is ready when it has not changed for the time given")
  func settling() {
    var state = HotFolderState(settle: .seconds(1))
    state.sight(path, at: at(0))
    #expect(state.next(at: at(0)) == .look([path]))
    #expect(state.note(path, .closed(form(1)), at: at(0)) == nil)
    #expect(state.next(at: at(0)) == .rest(until: at(1000)))
    #expect(state.next(at: at(1000)) == .look([path]))
    // It has changed meanwhile.
    #expect(state.note(path, .closed(form(2)), at: at(1000)) == nil)
    #expect(state.next(at: at(1999)) == .rest(until: at(2000)))
    #expect(state.next(at: at(2000)) == .look([path]))
    #expect(state.note(path, .closed(form(2)), at: at(2000)) == form(2))
    #expect(state.next(at: at(9000)) == .rest(until: nil))
  }

  @Test("Without a time a closed file is ready at once")
  func noSettling() {
    var state = HotFolderState(settle: .zero)
    state.sight(path, at: at(0))
    _ = state.next(at: at(0))
    #expect(state.note(path, .closed(form(1)), at: at(0)) == form(1))
  }

  @Test("An open file is looked at some times more, and then only when an event tells of it")
  func openFile() {
    var state = HotFolderState(settle: .zero)
    state.sight(path, at: at(0))
    var now = 0
    var looks: [Int] = []
    while case .look = state.next(at: at(now)) {
      looks.append(now)
      #expect(state.note(path, .open(form(1)), at: at(now)) == nil)
      guard case .rest(let due?) = state.next(at: at(now)) else { break }
      now = Int((due - Self.start) / .milliseconds(1))
    }
    #expect(looks == [0, 5, 25, 105, 425, 1705, 6825])
    #expect(state.next(at: at(100_000)) == .rest(until: nil))
    state.sight(path, at: at(100_000))
    #expect(state.next(at: at(100_000)) == .look([path]))
    #expect(state.note(path, .closed(form(2)), at: at(100_000)) == form(2))
  }

  @Test("A file has one job at a time; what comes meanwhile is looked at afterwards")
  func oneJob() {
    var state = HotFolderState(settle: .zero)
    state.expect("job", for: path)
    #expect(state.expectedCount == 1)
    state.sight(path, at: at(0))
    #expect(state.next(at: at(0)) == .rest(until: nil))
    state.remember(path, form(1), digest: 7)
    state.finish("job", at: at(5))
    #expect(state.next(at: at(5)) == .look([path]))
    #expect(state.note(path, .closed(form(1)), at: at(5)) == nil)
    state.sight(path, at: at(6))
    _ = state.next(at: at(6))
    #expect(state.note(path, .closed(form(2)), at: at(6)) == form(2))
    // Written anew with what it had.
    let isKnown = state.recognize(path, form(2), digest: 7)
    #expect(isKnown)
    state.sight(path, at: at(7))
    _ = state.next(at: at(7))
    #expect(state.note(path, .closed(form(2)), at: at(7)) == nil)
    let isOther = !state.recognize(path, form(3), digest: 8)
    #expect(isOther)
  }

  @Test("Of more files than there is room for, a scan finds the rest")
  func room() {
    var state = HotFolderState(settle: .zero)
    let paths = (0..<HotFolderState.capacity + 5).map { InnerPath(names: [FileName("\($0)")]) }
    for path in paths { state.sight(path, at: at(0)) }
    guard case .look(let first) = state.next(at: at(0)) else {
      Issue.record("nothing is looked at")
      return
    }
    #expect(first.count == HotFolderState.capacity)
    for path in first {
      #expect(state.note(path, .closed(form(1)), at: at(0)) != nil)
      state.expect(path.description, for: path)
    }
    // As long as there are so many jobs, nothing more is looked at.
    #expect(state.next(at: at(0)) == .rest(until: nil))
    for path in first {
      state.remember(path, form(1), digest: 1)
      state.finish(path.description, at: at(1))
    }
    #expect(state.next(at: at(1)) == .scan)
    for path in paths { state.sight(path, at: at(1)) }
    #expect(state.next(at: at(1)) != .rest(until: nil))
  }

  @Test("The content of a file that waits for another try is not read again while it has the same form")
  func keptDigest() throws {
    var state = HotFolderState(settle: .zero)
    let folder = try TemporaryDirectory()
    try Data("text".utf8).write(to: URL(filePath: folder.path("a")))
    let tree = try HotFolderTree(path: folder.path, isRecursive: false, queue: DispatchQueue(label: "test")) { _ in }
    let file = try HotFile(path, in: tree)
    let digest = HotFolderState.Digest(form: file.form, value: 7)
    #expect(file.digest != 7)
    state.retry(path, digest, at: at(10))
    state.sight(path, at: at(5))
    #expect(state.next(at: at(5)) == .look([path]))
    #expect(state.digest(of: path) == digest)
    #expect(try HotFile(path, in: tree, known: state.digest(of: path)).digest == 7)
    let ready = state.note(path, .closed(file.form), at: at(5))
    #expect(ready == file.form && state.digest(of: path) == nil)
    try Data("other".utf8).write(to: URL(filePath: folder.path("a")))
    #expect(try HotFile(path, in: tree, known: digest).digest != 7)
    tree.stop()
  }

  @Test("Files whose jobs failed in an earlier run are looked at once more, those that are completed are not")
  func unconfirmed() {
    var memory = HotFolderMemory()
    let other = InnerPath(names: [FileName("other")])
    memory.remember(path, form(1), digest: HotFolderMemory.failure)
    memory.remember(other, form(1), digest: 5)
    var state = HotFolderState(settle: .zero, memory: HotFolderMemory(text: memory.text))
    #expect(!state.isOver(path, form(1)) && state.isOver(other, form(1)))
    state.confirm(path)
    #expect(state.isOver(path, form(1)) && !state.isOver(path, form(2)))
  }

  @Test("What is remembered survives its text, also with a line that was cut short")
  func memory() {
    var memory = HotFolderMemory()
    for number in 0..<2_000 { memory.remember(InnerPath(names: [FileName("\(number)")]), form(1), digest: 5) }
    memory.remember(path, form(1), digest: 5)
    memory.remember(path, form(2), digest: 6)
    let line = memory.line(of: path) ?? ""
    var read = HotFolderMemory(text: memory.text + line.prefix(30) + "\n" + line)
    #expect(read.contains(path, form(2)) && !read.contains(path, form(1)) && read.digest(of: path) == 6)
    let isKept = !read.forgetAll(but: [])
    #expect(isKept)
    let isShorter = read.forgetAll(but: [HotFolderMemory.key(path)])
    #expect(isShorter)
    #expect(read.text == line)
  }

  /// A plain model of what must come of it: each content of a file that stays has one job, in the end.
  @Test("Random files, events, crashes and times give each content one job", arguments: 0..<300 as Range<UInt64>)
  func model(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let hasCrashes = seed.isMultiple(of: 2)
    let paths = ["a", "b", "c"].map { InnerPath(names: [FileName($0)]) }
    var now = 0
    var state = HotFolderState(settle: .milliseconds(100))
    /// The files as they are: form, content and whether somebody has them open.
    var files: [InnerPath: (form: FileForm, content: UInt64, isOpen: Bool)] = [:]
    /// The jobs by ID, as the store knows them: true when they are over.
    var store: [String: Bool] = [:]
    var submissions: [String] = []
    /// What is under way for this run.
    var running: [String: (path: InnerPath, form: FileForm, content: UInt64)] = [:]
    var lastForm: Int64 = 0

    func work() {
      while true {
        switch state.next(at: at(now)) {
        case .scan: for path in files.keys.sorted() { state.sight(path, at: at(now)) }
        case .rest: return
        case .look(let due):
          for path in due {
            let look: HotFolderState.Look =
              files[path].map { $0.isOpen ? .open($0.form) : .closed($0.form) } ?? .nothing
            guard let form = state.note(path, look, at: at(now)), let file = files[path] else { continue }
            #expect(!file.isOpen && file.form == form)
            if state.recognize(path, form, digest: file.content) { continue }
            let id = "\(path) \(form.modificationTime)"
            #expect(!running.values.contains { $0.path == path }, "two jobs of one file at a time")
            state.expect(id, for: path)
            running[id] = (path, form, file.content)
            if let isOver = store[id] {
              if isOver { finish(id) }
            } else {
              store[id] = false
              submissions.append("\(path) \(file.content)")
            }
          }
        }
      }
    }
    func finish(_ id: String) {
      guard let job = running.removeValue(forKey: id) else { return }
      store[id] = true
      state.remember(job.path, job.form, digest: job.content)
      state.finish(id, at: at(now))
    }

    for _ in 0..<200 {
      now += Int.random(in: 0...60, using: &random)
      let path = paths.randomElement(using: &random) ?? paths[0]
      switch Int.random(in: 0..<10, using: &random) {
      case 0...2:
        lastForm += 1
        files[path] = (form(lastForm), .random(in: 0..<3, using: &random), Bool.random(using: &random))
        state.sight(path, at: at(now))
      case 3...4:
        files[path]?.isOpen = false
        state.sight(path, at: at(now))
      case 5: files[path] = nil
      case 6: running.keys.sorted().randomElement(using: &random).map(finish)
      case 7 where hasCrashes:
        // A crash: what is remembered was on disk, and the store knows the jobs.
        state = HotFolderState(settle: .milliseconds(100), memory: HotFolderMemory(text: state.memory.text))
        for id in running.keys where Bool.random(using: &random) { store[id] = true }
        running = [:]
        state.rescan()
      case 8: state.rescan()
      default: break
      }
      work()
    }
    // In the end everything is closed and quiet.
    for path in paths {
      files[path]?.isOpen = false
      state.sight(path, at: at(now))
    }
    for _ in 0..<20 {
      now += 7_000
      work()
      running.keys.sorted().forEach(finish)
    }
    work()
    #expect(running.isEmpty && state.next(at: at(now)) == .rest(until: nil))
    for (path, file) in files { #expect(state.memory.contains(path, file.form), "a file was not taken") }
    // Of what was written just before a crash the store tells only under the old form.
    if hasCrashes { return }
    for path in paths {
      let contents = submissions.filter { $0.hasPrefix("\(path) ") }
      #expect(zip(contents, contents.dropFirst()).allSatisfy(!=), "the same content twice, one after the other")
      if let file = files[path] { #expect(contents.last == "\(path) \(file.content)") }
    }
  }
}
