import Configuration
import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import StatusReplies
import Synchronization
import SystemSupport

/// Watches one hot folder, submits a job for each file, and moves or deletes the file when the job's outcome is on disk.
///
/// All work happens on the folder's own queue. ``HotFolderState`` decides; this carries it out. A crash at any moment
/// leaves the file, from which the same ID follows at the next start: that is known, and tells whether the job is under
/// way, or how it ended.
final class HotFolderRunner: Sendable {
  /// The delay before what could not be done is tried again.
  private static let retryDelay = Duration.seconds(1)
  /// The same for a file whose owner has too many unfinished jobs.
  private static let quotaDelay = Duration.seconds(10)

  /// A file whose job is under way, or has failed and may be put back.
  private typealias Submitted = (path: InnerPath, content: HotFolderState.Digest)

  private struct State {
    var decisions: HotFolderState
    var submitted: [String: Submitted] = [:]
    /// The jobs that are over, with their states.
    var outcomes: [(id: String, state: JobState)] = []
    /// The numbers of files since the start.
    var counts = FoldersReply.Files()
    var last: FoldersReply.LastFile?
    var state = FoldersReply.State.missing
    /// The reason why no files are taken.
    var problem: String?
    /// The last file that was not taken, with the reason.
    var refusal: String?
    var isStopped = false
  }

  let folder: HotFolder
  private let jobs: HotFolderJobs
  private let memoryFile: HotFolderMemoryFile
  private let queue: DispatchQueue
  private let works: Coalescer
  private let timer: OneShotTimer
  private let state: Mutex<State>
  private let watch: HotFolderWatch

  init(_ folder: HotFolder, jobs: HotFolderJobs, memories: String) throws {
    self.folder = folder
    self.jobs = jobs
    memoryFile = try HotFolderMemoryFile(in: memories, name: folder.name)
    queue = DispatchQueue(label: "hot folder \(folder.name)")
    watch = HotFolderWatch(
      path: folder.definition.path, isRecursive: folder.definition.isRecursive, queue: queue)
    works = Coalescer(queue: queue)
    timer = OneShotTimer(queue: queue)
    state = Mutex(
      State(decisions: HotFolderState(settle: folder.definition.settle, memory: try memoryFile.read())))
  }

  /// Begins to watch, and to take what lies there; if it has begun already, looks through everything anew.
  func start() {
    queue.async {
      self.open()
      self.rescan()
    }
  }

  /// Stops; returns when no work is under way any more. Behind it comes ``finish()``.
  func stop() {
    state.withLock { $0.isStopped = true }
    timer.cancel()
    works.stop()
  }

  /// Finishes the files of jobs that have ended since the stop, or just before, and lets go of the folder.
  func finish() {
    finishFiles()
    watch.stop()
  }

  /// Notes jobs whose outcomes are on disk, of whichever origin.
  func note(_ finished: [FinishedJob]) {
    let isConcerned = state.withLock { state in
      let count = state.outcomes.count
      for job in finished where state.submitted[job.id] != nil {
        state.outcomes.append((job.id, job.state))
        if job.state == .completed { state.counts.completed += 1 } else { state.counts.failed += 1 }
      }
      return state.outcomes.count > count
    }
    if isConcerned { workSoon() }
  }

  /// The folder as people see it.
  var overview: FoldersReply.Folder {
    state.withLock { state in
      var overview = folder.overview(state.state)
      (overview.problem, overview.refusal) = (state.problem, state.refusal)
      (overview.files, overview.last) = (state.counts, state.last)
      overview.files.waiting = state.decisions.waitingCount
      overview.files.underWay = state.decisions.expectedCount
      return overview
    }
  }

  // MARK: Watching

  /// Opens the folder, or waits until it is there.
  private func open() {
    if state.withLock({ $0.isStopped }) { return }
    do throws(SystemError) {
      let isNew = try watch.open { [weak self] in
        self?.notice($0)
      } whenElsewhere: { [weak self] in
        self?.open()
      }
      if !isNew { return }
      state.withLock { $0.state = .watching }
      solve()
      rescan()
    } catch {
      state.withLock { $0.state = error.code == .noEntry ? .missing : .unreadable }
      tell("it can't be read; its files are taken when it is there: \(error)")
    }
  }

  /// Looks whether something was mounted upon the folder, or what was is unmounted.
  func noteMounts() {
    queue.async { if !self.watch.isCurrent { self.open() } }
  }

  private func notice(_ events: [HotFolderTree.Event]) {
    state.withLock { state in
      for event in events {
        switch event {
        case .sighted(let path): state.decisions.sight(path, at: .now)
        case .lost: state.decisions.rescan()
        }
      }
    }
    for case .lost in events {
      // The folder itself may have moved.
      open()
      break
    }
    workSoon()
  }

  private func rescan() {
    state.withLock { $0.decisions.rescan() }
    workSoon()
  }

  // MARK: Work

  private func workSoon() { works.request { [weak self] in self?.work() } }

  private func work() {
    finishFiles()
    while let tree = watch.tree, !state.withLock({ $0.isStopped }) {
      guard jobs.areTaken() else { return workAgain(after: Self.retryDelay) }
      switch state.withLock({ $0.decisions.next(at: .now) }) {
      case .scan: scan(tree)
      case .look(let paths): for path in paths { look(at: path, in: tree) }
      case .rest(let moment):
        let delays = [moment.map { max(.zero, $0 - .now) }, memoryFile.hasUnwritten ? Self.retryDelay : nil]
        if let delay = delays.compactMap(\.self).min() { workAgain(after: delay) } else { timer.disarm() }
        return
      }
    }
  }

  private func workAgain(after delay: Duration) { timer.arm(after: delay) { [weak self] in self?.work() } }

  private func scan(_ tree: HotFolderTree) {
    var present: Set<UInt64> = []
    let problems = tree.visitAll { path in
      present.insert(HotFolderMemory.key(path))
      sight(path)
    }
    if let problem = problems.first { return tell("not all of it can be read: \(problem)") }
    solve()
    let shorter = state.withLock { $0.decisions.forgetAll(but: present) ? $0.decisions.memory : nil }
    guard let shorter else { return }
    do { try memoryFile.write(shorter) } catch { tell("what is remembered of its files can't be written: \(error)") }
  }

  private func sight(_ path: InnerPath) {
    guard let name = path.names.last, folder.takes(name) else { return }
    state.withLock { $0.decisions.sight(path, at: .now) }
  }

  private func look(at path: InnerPath, in tree: HotFolderTree) {
    do throws(SystemError) {
      let look = try self.look(of: path, in: tree)
      let (form, digest) = state.withLock { state in
        let digest = state.decisions.digest(of: path)
        return (state.decisions.note(path, look, at: .now), digest)
      }
      if let form { submit(path, form, known: digest, in: tree) }
    } catch {
      _ = state.withLock { $0.decisions.note(path, .nothing, at: .now) }
      if !error.isLasting { return retry(path, because: error) }
      // It was removed or replaced meanwhile.
      if ![.noEntry, .symbolicLink, .notDirectory].contains(error.code) { refuse(path, "it can't be read: \(error)") }
    }
  }

  private func look(of path: InnerPath, in tree: HotFolderTree) throws(SystemError) -> HotFolderState.Look {
    guard let name = path.names.last else { return .nothing }
    let directory = try tree.directory(path.parent)
    let status = try directory.status(of: name)
    if status.kind == .directory {
      for problem in tree.visit(path, sight) { tell("not all of it can be read: \(problem)") }
      return .nothing
    }
    guard status.kind == .regular, folder.takes(name) else { return .nothing }
    // Most files that a scan meets are known: they are not even opened.
    let form = FileForm(status)
    if state.withLock({ $0.decisions.isOver(path, form) }) { return .closed(form) }
    let file = try directory.openFile(name)
    let writers = try file.excludeWriters()
    let now = FileForm(try file.status())
    return writers == .some ? .open(now) : .closed(now)
  }

  // MARK: Jobs

  /// - Parameter known: the hash of the content that an earlier attempt has read, with the form that the file had.
  private func submit(_ path: InnerPath, _ form: FileForm, known: HotFolderState.Digest?, in tree: HotFolderTree) {
    do {
      let file = try HotFile(path, in: tree, known: known)
      guard file.form == form else { return state.withLock { $0.decisions.sight(path, at: .now) } }
      if let line = state.withLock({ state in
        state.decisions.recognize(path, form, digest: file.digest) ? state.decisions.memory.line(of: path) : nil
      }) {
        return remember([line])
      }
      try submit(file, path)
    } catch let error as SystemError where [.noEntry, .symbolicLink, .notDirectory].contains(error.code) {
      // It was removed meanwhile.
      return
    } catch let error where HotFolderJobs.willPass(error) {
      retry(path, because: error)
    } catch let error as AdmissionRefusal {
      refuse(path, error.reason)
    } catch {
      refuse(path, "\(error)")
    }
  }

  private func submit(_ file: HotFile, _ path: InnerPath) throws {
    guard let relative = path.string, let name = path.names.last?.string else {
      throw HotFile.Refusal(description: "its name is no UTF-8 text; rename it")
    }
    let id = file.id(of: path, in: folder.name)
    state.withLock { state in
      state.decisions.expect(id, for: path)
      state.submitted[id] = (path, file.content)
    }
    do {
      var entry = try jobs.known(id)
      // One that was released since has its outcome on record.
      if let job = entry, !job.state.isFinal, !jobs.isUnfinished(job.objectID) { entry = try jobs.known(id) }
      if let known = entry {
        guard known.origin?.submitter == Int64(file.submitter) else {
          throw HotFile.Refusal(description: "its ID \(id) is that of another user's job; touch the file")
        }
        if !jobs.isUnfinished(known.objectID) {
          // Another host of a fleet sees the same file, and has its job.
          if !known.state.isFinal { return forget(id) }
          state.withLock { $0.outcomes.append((id, known.state)) }
        }
      } else if state.withLock({ $0.decisions.memory.contains(path, file.form) }) {
        // Its job failed before the start, and has no record any more.
        state.withLock { $0.decisions.confirm(path) }
        return forget(id)
      } else {
        let values = TemplateValues(
          path: (folder.definition.path == "/" ? "" : folder.definition.path) + "/" + relative, relative: relative,
          file: name)
        // Another host of a fleet may have seen the file at the same moment.
        guard try jobs.accept(folder.template.data(for: values, id: id), file.submitter) else { return forget(id) }
        state.withLock { state in
          state.counts.submitted += 1
          state.last = FoldersReply.LastFile(path: relative, time: Timestamp(Date()), job: id)
        }
        solve()
      }
    } catch {
      forget(id)
      guard error is SpoolQuota.Refusal else { throw error }
      retry(path, file.content, after: Self.quotaDelay, because: error)
    }
    if state.withLock({ !$0.outcomes.isEmpty }) { workSoon() }
  }

  private func forget(_ id: String) {
    state.withLock { state in
      state.submitted[id] = nil
      state.decisions.finish(id, at: .now)
    }
  }

  private func retry(
    _ path: InnerPath, _ digest: HotFolderState.Digest? = nil, after delay: Duration = retryDelay,
    because error: any Error
  ) {
    tell("files wait: \(error)")
    state.withLock { $0.decisions.retry(path, digest, at: .now + delay) }
  }

  // MARK: Afterwards

  /// Does with files whose jobs are over what is to be done afterwards.
  private func finishFiles() {
    let outcomes = state.withLock { state in
      defer { state.outcomes = [] }
      return state.outcomes
    }
    var lines: [String] = []
    for (id, outcome) in outcomes {
      guard let file = state.withLock({ $0.submitted.removeValue(forKey: id) }) else { continue }
      if !isGone(file, afterwards: outcome) {
        let line = state.withLock { state in
          // Somebody may put the job back, which may be completed then.
          let hasRoom = state.submitted.count < 2 * HotFolderState.capacity
          if hasRoom && outcome != .completed { state.submitted[id] = file }
          let before = state.decisions.memory.line(of: file.path)
          let digest = outcome == .completed ? file.content.value : HotFolderMemory.failure
          state.decisions.remember(file.path, file.content.form, digest: digest)
          let line = state.decisions.memory.line(of: file.path)
          return line == before ? nil : line
        }
        if let line { lines.append(line) }
      }
      state.withLock { $0.decisions.finish(id, at: .now) }
    }
    if !lines.isEmpty || memoryFile.hasUnwritten { remember(lines) }
  }

  /// Moves or deletes a file; returns true if it is not there any more, or is another one by now.
  private func isGone(_ file: Submitted, afterwards outcome: JobState) -> Bool {
    guard let tree = watch.tree, let name = file.path.names.last else { return true }
    let target = outcome == .completed ? folder.definition.done : folder.definition.failed
    let isDeleted = outcome == .completed && folder.definition.afterwards == .delete
    if !isDeleted && target == nil { return false }
    do {
      let directory = try tree.directory(file.path.parent)
      // Another file of its name, or other content, has a job of its own first.
      guard try directory.contains(name), FileForm(try directory.status(of: name)) == file.content.form else {
        return true
      }
      let place = try target.map { try Directory(path: $0).makingFolders(file.path.parent.names) }
      try directory.take(name, file.content.form, to: place)
      return true
    } catch {
      refuse(file.path, "its job is over, but it can't be \(isDeleted ? "deleted" : "moved"), and stays: \(error)")
      return false
    }
  }

  private func remember(_ lines: [String]) {
    do throws(SystemError) { try memoryFile.append(lines) } catch {
      tell("what is remembered of its files can't be written: \(error)")
    }
  }

  // MARK: Problems

  /// Tells operators of a problem with the folder, once until it is another one.
  private func tell(_ problem: String) { tell(problem, at: \.problem) }

  private func refuse(_ path: InnerPath, _ reason: String) { tell("the file \(path): \(reason)", at: \.refusal) }

  private func tell(_ text: String, at place: WritableKeyPath<State, String?>) {
    let isNew = state.withLock { state in
      defer { state[keyPath: place] = text }
      return state[keyPath: place] != text
    }
    guard isNew else { return }
    jobs.log.error(
      "the hot folder \(folder.name) (\(displayName(folder.definition.path))): \(text)", as: .folderTroubled,
      fields: [("BOBBIN_FOLDER", folder.name)])
    jobs.problemsDidChange()
  }

  private func solve() {
    let wasThere = state.withLock { state in
      defer { if !memoryFile.hasUnwritten { state.problem = nil } }
      return state.problem != nil
    }
    if wasThere { jobs.problemsDidChange() }
  }
}
