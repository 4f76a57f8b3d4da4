import Configuration
import Foundation
import Synchronization
import SystemSupport

/// The folders that job files go through: `tmp/`, `new/`, `cur/` and `failed/`, all on one file system.
final class Spool: Sendable {
  let temporary: Directory
  /// Where files lie while their jobs are at work.
  let current: Directory
  private let paths: Paths
  /// Folders that may be replaced while the daemon runs.
  private let replaceable: Mutex<(new: Directory, failed: Directory)>
  /// Keeps the choice of a free name in `failed/` and its use together.
  private let refusing = Mutex<Void>(())
  /// Whether the operator has been told what can't be known, and whether there is something to tell.
  private let uncertainty = Mutex((isTold: false, isNew: false))
  /// Whether others than the daemon's user may put files into `new/`; nil if that is to be found out.
  private let sharing = Mutex<Bool?>(nil)

  /// Opens the folders; missing ones are made.
  init(_ paths: Paths) throws {
    self.paths = paths
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

  private static func open(_ path: String, mode: Int) throws -> Directory {
    if !FileManager.default.fileExists(atPath: path) {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      // The umask would take the write permission of the group away.
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }
    return try Directory(path: path)
  }

  /// Has files be their owners' alone to change, whatever the umask, where the folder gives them a group of many.
  private static func dropBox(_ folder: Directory) throws(SystemError) -> Directory {
    let status = try folder.status()
    let givesGroup = status.mode & 0o2000 != 0
    if givesGroup, [status.owner, 0].contains(Credentials.effectiveUser) { try folder.limitModes(ofNewFiles: 0o750) }
    return folder
  }

  /// Whether others than the daemon's user and root may put files into `new/`; asked of the system once per batch.
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

  /// Asks anew who may put files into `new/`, when that is to be known.
  func beginBatch() { sharing.withLock { $0 = nil } }

  /// The folder of the folders.
  var path: String { paths.spool }

  /// Where submitters drop files.
  var new: Directory { replaceable.withLock { $0.new } }

  /// Where files lie that were refused, or whose job was given up, each with a `.reason`.
  var failed: Directory { replaceable.withLock { $0.failed } }

  /// Opens `new/` again if another folder has taken its place; returns whether that was so.
  func reopenNew() throws(SystemError) -> Bool {
    let now = try Directory(path: paths.spoolNew)
    if try now.status().isSameFile(as: new.status()) { return false }
    _ = try Self.dropBox(now)
    replaceable.withLock { $0.new = now }
    return true
  }

  /// Opens `failed/` again, in case another folder has taken its place.
  func reopenFailed() throws(SystemError) {
    let now = try Directory(path: paths.spoolFailed)
    replaceable.withLock { $0.failed = now }
  }

  /// Notes that a file was taken of which it can't be known whether somebody was still writing it.
  func noteUncertainty() {
    uncertainty.withLock { state in
      if !state.isTold { state = (isTold: true, isNew: true) }
    }
  }

  /// Returns true once, when there is such a file.
  func takeUncertainty() -> Bool {
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

  /// Reasons that a file in `failed/` gets, and characters of each.
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
    } catch {
      try failed.unlink(kept.reasonName)
      // Its owner has taken it away meanwhile.
      if error.code != .noEntry { throw error }
    }
  }

  /// The name itself, or with `.2` to `.9` behind it, or with something that nobody has.
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

  /// Removes a file whose jobs are done and on disk.
  func release(_ name: FileName) throws(SystemError) {
    do throws(SystemError) {
      try current.unlink(name)
    } catch {
      if error.code != .noEntry { throw error }
    }
  }

  /// Writes a job file that came over the socket straight to `cur/`, durably.
  ///
  /// - Parameter name: from ``Submitter/fileName(for:)``.
  func store(_ data: Data, as name: FileName, submitter: UInt32) throws(SystemError) -> ClaimedFile {
    try current.writeDurably(name, data)
    let descriptor = try current.openFile(name)
    return ClaimedFile(
      name: name, data: data, submitter: submitter, status: try descriptor.status(),
      birthTime: try descriptor.birthTime())
  }
}

extension Directory {
  /// Whether the name of a file's reason is taken, where names that had to be shortened share theirs.
  ///
  /// Of any other name, a reason without its file is what an earlier run was about to move here when it ended, or of a
  /// file that somebody has put back: it is written anew.
  fileprivate func containsReason(ofAnother name: FileName) throws(SystemError) -> Bool {
    if name.reasonName == name.appending(".reason") { return false }
    return try contains(name.reasonName)
  }
}

extension FileName {
  /// The name of the file that tells why the file of this name lies in `failed/`.
  var reasonName: FileName { shortened(by: 7).appending(".reason") }

  /// The name without so many of its last bytes that the rest leaves room for an ending.
  fileprivate func shortened(by ending: Int) -> FileName {
    let longest = 255 - ending
    return bytes.count <= longest ? self : FileName(bytes: bytes.prefix(longest))
  }
}
