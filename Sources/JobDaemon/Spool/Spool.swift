import Configuration
import Foundation
import Synchronization
import SystemSupport

/// The folders that job files go through: `tmp/`, `new/`, `cur/` and `failed/`, all on one file system.
final class Spool: Sendable {
  let temporary: Directory
  /// The folder of claimed files, whose jobs are unfinished.
  let current: Directory
  /// The shares that users have of it.
  let quota: SpoolQuota
  private let paths: Paths
  /// Folders that may be replaced while the daemon runs.
  private let replaceable: Mutex<(new: Directory, failed: Directory)>
  /// Makes the choice of a free name in `failed/` and its use one step.
  private let refusing = Mutex<Void>(())
  /// True once the operator was told that writers can't be detected, and while that is still to be told.
  private let uncertainty = Mutex((isTold: false, isNew: false))
  /// True if others than the daemon's user may put files into `new/`; nil if that is to be found out.
  private let sharing = Mutex<Bool?>(nil)

  /// Opens the folders; missing ones are made.
  init(_ paths: Paths, quota: SpoolQuota = SpoolQuota()) throws {
    self.paths = paths
    self.quota = quota
    temporary = try Self.dropBox(try Self.open(paths.spoolTemporary, mode: 0o3730))
    let new = try Self.dropBox(try Self.open(paths.spoolNew, mode: 0o3730))
    current = try Self.open(paths.spoolCurrent, mode: 0o700)
    replaceable = Mutex((new, try Self.open(paths.spoolFailed, mode: 0o750)))
    _ = try Self.open(paths.payload, mode: 0o3770)
    for folder in [current, failed] { try Self.sweep(folder) }
  }

  /// Removes what an earlier run was writing when it ended; only the daemon writes there.
  private static func sweep(_ folder: Directory) throws {
    for name in try folder.entries() where name.isHidden && name.bytes.suffix(4).elementsEqual(".tmp".utf8) {
      try folder.unlink(name)
    }
  }

  static func open(_ path: String, mode: Int) throws -> Directory {
    if !FileManager.default.fileExists(atPath: path) {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      // The umask would take the write permission of the group away.
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }
    return try Directory(path: path)
  }

  /// Makes new files writable by their owners only, whatever the umask, where the folder gives them a shared group.
  private static func dropBox(_ folder: Directory) throws(SystemError) -> Directory {
    let status = try folder.status()
    let givesGroup = status.mode & 0o2000 != 0
    if givesGroup, [status.owner, 0].contains(Credentials.effectiveUser) { try folder.limitModes(ofNewFiles: 0o750) }
    return folder
  }

  /// Returns true if others than the daemon's user and root may put files into `new/`; determined once per batch.
  func isNewShared() throws(SystemError) -> Bool {
    if let known = sharing.withLock({ $0 }) { return known }
    let (folder, user) = (new, try UserIdentity.ofThisProcess())
    let status = try folder.status()
    var isShared = status.mode & 0o002 != 0 || ![0, user.user].contains(status.owner)
    if !isShared, status.isWritableByOthers {
      let (isAlone, hasList) = (try user.isAlone(inGroup: status.group), try folder.hasAccessControlList())
      isShared = !isAlone || hasList
    }
    sharing.withLock { $0 = isShared }
    return isShared
  }

  /// Has the writers of `new/` determined anew, when they are needed.
  func beginBatch() { sharing.withLock { $0 = nil } }

  /// The folder that contains the others.
  var path: String { paths.spool }

  /// The folder where submitters drop files.
  var new: Directory { replaceable.withLock { $0.new } }

  /// The folder of files that were refused, or whose job was discarded, each with a `.reason`.
  var failed: Directory { replaceable.withLock { $0.failed } }

  /// Opens `new/` again if another folder has replaced it; returns true if one has.
  func reopenNew() throws(SystemError) -> Bool {
    let now = try Directory(path: paths.spoolNew)
    if try now.status().isSameFile(as: new.status()) { return false }
    _ = try Self.dropBox(now)
    replaceable.withLock { $0.new = now }
    return true
  }

  /// Opens `failed/` again, in case another folder has replaced it.
  func reopenFailed() throws(SystemError) {
    let now = try Directory(path: paths.spoolFailed)
    replaceable.withLock { $0.failed = now }
  }

  /// Records that a file was claimed that may still have been open for writing.
  func noteUncertainty() {
    uncertainty.withLock { state in
      if !state.isTold { state = (isTold: true, isNew: true) }
    }
  }

  /// Returns true once, when there was such a file.
  func drainUncertainty() -> Bool {
    uncertainty.withLock { state in
      defer { state.isNew = false }
      return state.isNew
    }
  }

  /// Moves a file to `failed/`, under another name if there is one already, with the reason beside it.
  ///
  /// The reason is there first, so that nobody finds a file without one.
  ///
  /// - Parameter reasons: for people; each becomes a line.
  func refuse(_ name: FileName, in directory: Directory, reasons: [String]) throws(SystemError) {
    let text = Data(Self.text(reasons, of: name).utf8)
    let outcome = refusing.withLock { _ in
      Result { () throws(SystemError) in try move(name, from: directory, explaining: text) }
    }
    try outcome.get()
  }

  /// The most reasons that a file in `failed/` gets, and the most characters of each.
  private static let reasonLimit = 1_000, reasonLength = 2_000

  private static func text(_ reasons: [String], of name: FileName) -> String {
    var lines = reasons.prefix(reasonLimit).map { singleLine($0, limit: reasonLength) }
    if reasons.count > reasonLimit { lines.append("and \(reasons.count - reasonLimit) more") }
    return "\(name): " + lines.joined(separator: "\n") + "\n"
  }

  private func move(_ name: FileName, from directory: Directory, explaining text: Data) throws(SystemError) {
    let failed = failed
    let kept = try freeName(for: name, in: failed)
    try failed.writeDurably(kept.reasonName, text, mode: 0o640)
    do throws(SystemError) {
      try Submitter.mark(name, in: directory)
      try directory.rename(name, to: kept, in: failed, replacing: false)
      quota.remove(name)
    } catch {
      try failed.unlink(kept.reasonName)
      // Its owner has removed it meanwhile.
      if error.code != .noEntry { throw error }
    }
  }

  /// Returns the name itself, or with `.2` to `.9` behind it, or with a random ending.
  private func freeName(for name: FileName, in failed: Directory) throws(SystemError) -> FileName {
    var kept = name
    for number in 2...10 {
      if try !failed.contains(kept), try !failed.containsReason(ofAnother: kept) { return kept }
      // A thousand files of one name must not be tried one after the other.
      let ending = number < 10 ? "\(number)" : String(UInt64.random(in: .min ... .max), radix: 36)
      kept = name.shortened(by: 24).appending("." + ending)
    }
    return kept
  }

  /// Unlinks a file whose jobs are durable.
  func release(_ name: FileName) throws(SystemError) {
    do throws(SystemError) {
      try current.unlink(name)
    } catch {
      if error.code != .noEntry { throw error }
    }
    quota.remove(name)
  }

  /// Writes a job file that came over the socket straight to `cur/`, durably.
  ///
  /// - Parameter name: from ``Submitter/fileName(for:tag:hasLines:)``.
  func store(_ data: Data, as name: FileName, submitter: UInt32) throws(SystemError) -> ClaimedFile {
    do throws(SystemError) {
      try current.writeDurably(name, data)
      let descriptor = try current.openFile(name)
      return ClaimedFile(
        name: name, data: data, submitter: submitter, status: try descriptor.status(),
        birthTime: try descriptor.birthTime())
    } catch { throw takenBack(name, error) }
  }

  /// Removes a file whose client is told that it was not stored: the next start must not run it.
  ///
  /// - Returns: the error that the client is told, which says so if that failed as well.
  fileprivate func takenBack(_ name: FileName, _ error: SystemError) -> SystemError {
    do throws(SystemError) { try release(name) } catch let leftover {
      return error.hinting("cur/\(name) can't be removed either, and may run at the next start: \(leftover)")
    }
    return error
  }
}

/// A file in `cur/` that a client is still sending; the next start removes it, and so does whoever drops it.
final class SpooledFile: Sendable {
  private final class Opened: Sendable {
    let descriptor: FileDescriptor

    init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }
  }

  fileprivate let name: FileName
  private let directory: Directory
  private let quota: SpoolQuota
  private let opened = Mutex<Opened?>(nil)
  fileprivate let user: UInt32

  private static let removals = DispatchQueue(label: "files that clients did not end")

  fileprivate init(_ name: FileName, of user: UInt32, in directory: Directory, _ quota: SpoolQuota) {
    (self.name, self.user, self.directory, self.quota) = (name, user, directory, quota)
  }

  deinit {
    // A stored one has another name by then; one that can't be removed is, at the next start.
    let (directory, name, quota) = (directory, name, quota)
    let isMade = opened.withLock { $0 != nil }
    // Whoever drops it may be the server's thread, and a disk takes its time for a large file.
    Self.removals.async {
      if isMade { try? directory.unlink(name) }
      quota.remove(name)
    }
  }

  func append(_ bytes: UnsafeRawBufferPointer) throws(SystemError) { try file().descriptor.writeAll(bytes) }

  func append(_ data: Data) throws(SystemError) { try file().descriptor.writeAll(data) }

  /// Writes all to the disk, and returns the file's status and time of birth.
  fileprivate func synchronize() throws(SystemError) -> (status: FileStatus, birthTime: Int64) {
    let file = try file()
    try file.descriptor.synchronize()
    return (try file.descriptor.status(), try file.descriptor.birthTime())
  }

  /// Returns the file, made the first time: not on the server's thread, as a disk may make one wait for that.
  private func file() throws(SystemError) -> Opened {
    try opened.withLock { (opened) throws(SystemError) in
      if let opened { return opened }
      let made = Opened(try directory.createFile(name))
      opened = made
      return made
    }
  }
}

extension Spool {
  /// Begins a file for what a client is about to send, and counts its bytes for its user from now on.
  ///
  /// - Throws: ``SpoolQuota/Refusal``.
  func receive(_ length: UInt64, for user: UInt32) throws -> SpooledFile {
    let name = Self.unusedName
    try quota.add(name, of: user, .init(bytes: Int(clamping: length)))
    return SpooledFile(name, of: user, in: current, quota)
  }

  /// Copies what a client has sent, with other lines in place of its own; the copy takes its place.
  ///
  /// Only what it has more counts for its user, as long as both are there.
  ///
  /// - Parameter limit: the most bytes of a line; one that has more stays too long, without its text.
  /// - Throws: ``SpoolQuota/Refusal``, `SystemError`.
  func copy(
    _ file: SpooledFile, lineLimit limit: Int, _ change: (ArraySlice<UInt8>) -> ArraySlice<UInt8>
  ) throws -> SpooledFile {
    let copy = SpooledFile(Self.unusedName, of: file.user, in: current, quota)
    let sent = Int(try current.status(of: file.name).size)
    var size = 0
    func write(_ piece: Data) throws {
      size += piece.count
      try quota.add(copy.name, of: file.user, .init(bytes: max(0, size - sent)))
      try copy.append(piece)
    }
    // It was written from its beginning.
    var lines = LineReader(try current.openFile(file.name), limit: limit)
    var piece = Data()
    while let line = try lines.next() {
      if case .text(let text) = line {
        piece += change(text)
      } else {
        piece += [UInt8](repeating: UInt8(ascii: " "), count: limit + 1)
      }
      piece.append(UInt8(ascii: "\n"))
      if piece.count < 256 << 10 { continue }
      try write(piece)
      piece = Data()
    }
    try write(piece)
    quota.remove(file.name)
    quota.count(copy.name, of: file.user, .init(bytes: size))
    return copy
  }

  private static var unusedName: FileName { FileName(".\(UUID().uuidString).tmp") }

  /// Gives what a client has sent its name in `cur/`, durably.
  ///
  /// - Parameter name: from ``Submitter/fileName(for:tag:hasLines:)``.
  func store(_ file: SpooledFile, as name: FileName, submitter: UInt32) throws(SystemError) -> ClaimedFile {
    let (status, birthTime) = try file.synchronize()
    try current.rename(file.name, to: name)
    quota.remove(file.name)
    quota.count(name, of: submitter, .init(bytes: Int(status.size)))
    do throws(SystemError) { try current.synchronize() } catch { throw takenBack(name, error) }
    return ClaimedFile(
      name: name, data: Data(), submitter: submitter, status: status, birthTime: birthTime)
  }
}

extension Directory {
  /// Returns true if the name of a file's reason is taken, where names that had to be shortened share theirs.
  ///
  /// For any other name, a reason without its file is left from a move that an earlier run did not finish, or from a
  /// file that was put back: it is written anew.
  fileprivate func containsReason(ofAnother name: FileName) throws(SystemError) -> Bool {
    if name.reasonName == name.appending(".reason") { return false }
    return try contains(name.reasonName)
  }
}

extension FileName {
  /// The name of the file with the reason why the file of this name lies in `failed/`.
  var reasonName: FileName { shortened(by: 7).appending(".reason") }

  /// The name, cut so that it leaves room for an ending.
  fileprivate func shortened(by ending: Int) -> FileName {
    let longest = 255 - ending
    return bytes.count <= longest ? self : FileName(bytes: bytes.prefix(longest))
  }
}
