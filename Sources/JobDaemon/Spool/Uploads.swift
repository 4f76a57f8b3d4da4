import Configuration
import Dispatch
import Foundation
import Glibc
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport

/// The inputs that come with jobs over the socket, in `uploads/`: a folder for each job file, as long as that is in `cur/`,
/// or in `failed/`, or one of its jobs was put back and is not over.
///
/// So they are there whenever the jobs may run, go when all are completed, and go with the file if one has failed. A
/// folder without a file is what a crash has left, and the next sweep removes it.
final class Uploads: Sendable {
  private struct State {
    /// The bytes of each folder, and whose they are; those that are being received included.
    var folders: [FileName: (user: UInt32, bytes: UInt64)] = [:]
    /// Folders whose job file is about to be written, or which are being received.
    var begun: Set<FileName> = []
    /// The unfinished jobs that were put back, by the folders whose files they name: their job file may be gone before them.
    var putBack: [FileName: Set<ManagedObjectID>] = [:]
    /// The bytes of folders that are being received which are not on the disk yet.
    var announced: [FileName: UInt64] = [:]

    /// Keeps the inputs that a job's arguments name in the folder of inputs.
    mutating func keep(_ arguments: String, of job: ManagedObjectID, in path: String) {
      for name in folders.keys where arguments.contains("\(path)/\(name)/") {
        putBack[name, default: []].insert(job)
      }
    }

    func bytes(of user: UInt32) -> UInt64 { folders.values.reduce(0) { $1.user == user ? $0 + $1.bytes : $0 } }
  }

  /// The room that is left on the disk for everything else.
  private static let reserve: UInt64 = 64 << 20

  private let spool: Spool
  private let folder: Directory
  private let path: String
  private let configuration: ConfigurationBox
  private let log: DaemonLog
  private let main: ManagedObjectContext
  /// True if other hosts put jobs back and end them, so that only the store knows.
  private let isShared: Bool
  private let state = Mutex(State())
  /// Large files take long to unlink, which neither the server's thread nor the daemon's events are to wait for.
  private let removals = DispatchQueue(label: "removals of inputs")
  private let sweeps: Coalescer

  init(
    _ spool: Spool, _ paths: Paths, main: ManagedObjectContext, isShared: Bool, configuration: ConfigurationBox,
    log: DaemonLog
  ) throws {
    (self.spool, path, self.configuration, self.log) = (spool, paths.uploads, configuration, log)
    (self.main, self.isShared) = (main, isShared)
    sweeps = Coalescer(queue: removals)
    folder = try Spool.open(paths.uploads, mode: 0o700)
  }

  // MARK: Receiving

  /// Begins to receive a request's inputs, which have so many bytes together.
  func receive(_ length: UInt64, for user: UInt32) throws -> UploadFolder {
    let settings = configuration.value.spool
    guard length <= UInt64(settings.maxUploadSize) else {
      throw UploadRefusal(.tooLarge, "a request with inputs may have \(settings.maxUploadSize) bytes")
    }
    let name = FileName(".\(UUID().uuidString).tmp")
    let isTooMuch = state.withLock { state in
      let most = UInt64(settings.maxUploadBytesPerUser)
      if most > 0, state.bytes(of: user) + length > most { return true }
      state.folders[name] = (user, length)
      state.begun.insert(name)
      state.announced[name] = length
      return false
    }
    if isTooMuch {
      // Somebody may have removed files from failed/ by hand, which the next try finds out.
      sweepSoon()
      throw UploadRefusal(
        .tooMany,
        "the inputs of this user's unfinished and failed jobs have \(settings.maxUploadBytesPerUser) bytes already")
    }
    do {
      try checkRoom()
      return UploadFolder(name, in: folder) { [self] count in
        state.withLock { state in
          if let left = state.announced[name] { state.announced[name] = left - min(count, left) }
        }
      } discard: { [self] in
        removals.async { self.remove(name) }
      }
    } catch {
      forget(name)
      throw error
    }
  }

  /// Checks that everything that is announced and not on the disk yet will fit.
  private func checkRoom() throws {
    var status = statvfs()
    try systemCall("statvfs", path) { statvfs(path, &status) }
    let free = UInt64(status.f_bavail) * UInt64(status.f_frsize)
    let announced = state.withLock { $0.announced.values.reduce(0, +) }
    if announced + Self.reserve > free {
      throw UploadRefusal(.noRoom, "the spool's disk has no room for the inputs")
    }
  }

  // MARK: Keeping

  /// The path that a job file of this name has for an input.
  func path(of input: String, in file: FileName) -> String { "\(path)/\(folderName(of: file))/\(input)" }

  /// Keeps what was received and synchronized, and calls a body that writes the job file of this name; undoes it if that
  /// fails.
  func keep<Result>(_ received: UploadFolder, for file: FileName, _ body: () throws -> Result) throws -> Result {
    let name = folderName(of: file)
    state.withLock { state in
      state.folders[name] = state.folders.removeValue(forKey: received.name)
      state.announced[received.name] = nil
      // It goes on being heeded by no sweep under its first name, until it has this one.
      state.begun.insert(name)
    }
    // Its jobs may be over by the end, and were not to be heeded before.
    defer {
      state.withLock { $0.begun.subtract([received.name, name]) }
      removals.async { self.removeIfUnused(name) }
    }
    do {
      try folder.rename(received.name, to: name)
      received.markKept()
      try folder.synchronize()
      return try body()
    } catch let error as UnansweredAdmission {
      // The job file stays.
      throw error
    } catch {
      remove(name)
      throw error
    }
  }

  /// Removes the inputs of a job file that is in `cur/` no more, unless it has come to `failed/`.
  func fileIsGone(_ file: FileName) {
    // Most job files come without any.
    if state.withLock({ $0.folders.isEmpty }) { return }
    guard let name = Submitter.uploadName(of: file),
      state.withLock({ $0.folders[name] != nil && !$0.begun.contains(name) })
    else { return }
    removals.async { self.removeIfUnused(name) }
  }

  /// Keeps the inputs that a job's arguments name until that is over, as it was put back.
  func keep(_ arguments: String, of job: ManagedObjectID) {
    guard arguments.contains(path + "/") else { return }
    state.withLock { $0.keep(arguments, of: job, in: path) }
  }

  /// Removes what was kept for jobs that are over.
  ///
  /// - Parameter isUnfinished: tells whether one of the jobs was put back since.
  func note(over jobs: some Sequence<ManagedObjectID>, unless isUnfinished: (ManagedObjectID) -> Bool) {
    if state.withLock({ $0.putBack.isEmpty }) { return }
    let over = Set(jobs.filter { !isUnfinished($0) })
    let free = state.withLock { state in
      let before = state.putBack.keys
      state.putBack = state.putBack.mapValues { $0.subtracting(over) }.filter { !$0.value.isEmpty }
      return before.filter { state.putBack[$0] == nil }
    }
    if isShared {
      // Another host may have put another job back that needs them.
      if !free.isEmpty { sweepSoon() }
    } else {
      for name in free { removals.async { self.removeIfUnused(name) } }
    }
  }

  /// Begins with what earlier runs have left, which counts for its users.
  func begin() { sweep(asksStore: true) }

  /// Removes, soon, all folders that neither a job file nor a job needs.
  ///
  /// Inputs that were kept for a job which has ended on another host go then, and not before.
  func sweepSoon() { sweeps.request { self.sweep(asksStore: self.isShared) } }

  /// Removes nothing more by itself.
  func stop() { sweeps.close() }

  private func sweep(asksStore: Bool) {
    do {
      let names = try folder.entries().filter { name in !state.withLock { $0.begun.contains(name) } }
      // Most sweeps find none.
      if names.isEmpty { return }
      for name in names where !name.isHidden {
        do throws(SystemError) { try count(name) } catch {
          if error.code != .noEntry { log.error("the inputs in uploads/\(name) can't be looked at: \(error)") }
        }
      }
      if asksStore {
        let jobs = try putBackJobs()
        state.withLock { state in
          if isShared { state.putBack = [:] }
          for (job, arguments) in jobs { state.keep(arguments, of: job, in: path) }
        }
      }
      for name in names { if name.isHidden { remove(name) } else { removeIfUnused(name) } }
    } catch {
      log.error("uploads/ can't be looked through, and keeps inputs of finished jobs: \(error)")
    }
  }

  /// The unfinished jobs that have no job file any more, with their arguments.
  private func putBackJobs() throws -> [(job: ManagedObjectID, arguments: String)] {
    try ManagedObjectContext(parent: main, name: "uploads").performAndWait { context in
      let names = JobState.unfinished.map(\.rawValue)
      let request = try FetchRequest<Job>(
        format: "file == nil AND state IN %@ AND arguments CONTAINS 'uploads/'", names)
      return try context.fetch(request).map { ($0.objectID, $0.arguments) }
    }
  }

  private func removeIfUnused(_ name: FileName) {
    do throws(SystemError) {
      if state.withLock({ $0.putBack[name] != nil }) { return }
      let file = Submitter.fileName(ofUpload: name)
      // Somebody may be about to try a failed file again, which is then in new/, and then in cur/ once more.
      for place in [spool.current, spool.failed, spool.new, spool.current] where try place.contains(file) {
        return try count(name)
      }
      remove(name)
    } catch {
      log.error("the inputs in uploads/\(name) can't be looked at: \(error)")
    }
  }

  /// Counts the inputs of an earlier run.
  private func count(_ name: FileName) throws(SystemError) {
    if state.withLock({ $0.folders[name] != nil }) { return }
    let kept = try folder.openDirectory(name)
    var bytes: UInt64 = 0
    for input in try kept.entries() { bytes += UInt64(max(0, try kept.status(of: input).size)) }
    let user = name.string?.split(separator: "-").first.flatMap { UInt32($0) } ?? 0
    state.withLock { $0.folders[name] = (user, bytes) }
  }

  private func remove(_ name: FileName) {
    do {
      let inputs = try folder.openDirectory(name)
      for input in try inputs.entries() { try inputs.unlink(input) }
      try folder.removeDirectory(name)
      forget(name)
    } catch {
      if error.code == .noEntry { return forget(name) }
      log.error("the inputs in uploads/\(name) can't be removed; the next sweep tries again: \(error)")
    }
  }

  private func folderName(of file: FileName) -> FileName {
    guard let name = Submitter.uploadName(of: file) else { preconditionFailure("\(file) was not sent over the socket") }
    return name
  }

  private func forget(_ name: FileName) {
    state.withLock { state in
      state.folders[name] = nil
      state.announced[name] = nil
      state.begun.remove(name)
    }
  }
}

/// The inputs of one request, while they are received; dropped, they are removed.
final class UploadFolder: Sendable {
  let name: FileName
  private let parent: Directory
  private let noteWritten: @Sendable (UInt64) -> Void
  private let discard: @Sendable () -> Void
  private let opened = Mutex<Directory?>(nil)
  private let isKept = Mutex(false)

  /// - Parameter noteWritten: told of the bytes that were written.
  fileprivate init(
    _ name: FileName, in parent: Directory, noteWritten: @escaping @Sendable (UInt64) -> Void,
    discard: @escaping @Sendable () -> Void
  ) {
    (self.name, self.parent, self.noteWritten, self.discard) = (name, parent, noteWritten, discard)
  }

  deinit { if !isKept.withLock({ $0 }) { discard() } }

  fileprivate func markKept() { isKept.withLock { $0 = true } }

  /// Begins an input, which `finish` ends; one at a time.
  func begin(_ name: String) throws(SystemError) -> UploadedInput {
    try UploadedInput(name, in: try directory(), noteWritten: noteWritten)
  }

  /// Writes all to the disk, which takes as long as the disk needs for it.
  func synchronize() throws(SystemError) {
    let directory = try directory()
    for input in try directory.entries() { try directory.openFile(input).synchronize() }
    try directory.synchronize()
  }

  /// Returns the folder, made the first time: not on the server's thread, as a disk may make one wait for that.
  private func directory() throws(SystemError) -> Directory {
    try opened.withLock { (opened) throws(SystemError) in
      if let opened { return opened }
      try parent.makeDirectory(name)
      let made = try parent.openDirectory(name)
      opened = made
      return made
    }
  }
}

/// An input on its way to disk.
///
/// `@unchecked Sendable`: whoever receives inputs has one at a time, within a lock or on one thread.
final class UploadedInput: @unchecked Sendable {
  /// The name of the file until its content is known; no input can have it.
  private static let fileName: FileName = ".part"

  let name: String
  private let directory: Directory
  private let descriptor: FileDescriptor
  private let noteWritten: @Sendable (UInt64) -> Void
  private let hash = SHA256()

  fileprivate init(
    _ name: String, in directory: Directory, noteWritten: @escaping @Sendable (UInt64) -> Void
  ) throws(SystemError) {
    (self.name, self.directory, self.noteWritten) = (name, directory, noteWritten)
    descriptor = try directory.createFile(Self.fileName)
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
    hash.add(bytes)
    try descriptor.writeAll(bytes)
    noteWritten(UInt64(bytes.count))
  }

  /// Gives the file its name, which has the hash of its content, and returns that.
  func finish() throws(SystemError) -> String {
    let file = UploadedInputs.fileName(of: name, hash: SHA256.digits(hash.finish()))
    try directory.rename(Self.fileName, to: FileName(file))
    return file
  }
}

/// Inputs that are there, and will be a job file's.
struct ReceivedInputs: Sendable {
  /// The text that a job puts before the name of an input in place of a path.
  static let prefix = "upload:"

  let folder: UploadFolder
  /// The names of the files in the folder, by the names that jobs have for them.
  let files: [String: String]

  /// The name of the input that a job means by a path; nil if it is a path.
  static func input(named path: String) -> String? {
    path.hasPrefix(prefix) ? String(path.dropFirst(prefix.count)) : nil
  }
}

/// The reason why inputs are not received.
struct UploadRefusal: Error {
  enum Code { case tooLarge, tooMany, noRoom }

  let code: Code
  let message: String

  init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }
}
