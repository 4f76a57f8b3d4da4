import Configuration
import Foundation
import Synchronization
import SystemSupport

/// The folders that job files go through: `tmp/`, `new/`, `cur/` and `failed/`, all on one file system.
final class Spool: Sendable {
  let temporary: Directory
  /// Where submitters drop files.
  let new: Directory
  /// Where files lie while their jobs are at work.
  let current: Directory
  /// Where files lie that were refused, or whose job was given up, each with a `.reason`.
  let failed: Directory
  /// Keeps the choice of a free name in `failed/` and its use together.
  private let refusing = Mutex<Void>(())

  /// Opens the folders; missing ones are made.
  init(_ paths: Paths) throws {
    temporary = try Self.open(paths.spoolTemporary, mode: 0o3730)
    new = try Self.open(paths.spoolNew, mode: 0o3730)
    current = try Self.open(paths.spoolCurrent, mode: 0o700)
    failed = try Self.open(paths.spoolFailed, mode: 0o750)
    _ = try Self.open(paths.payload, mode: 0o3770)
  }

  private static func open(_ path: String, mode: Int) throws -> Directory {
    if !FileManager.default.fileExists(atPath: path) {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      // The umask would take the write permission of the group away.
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }
    return try Directory(path: path)
  }

  /// What became of a file in `new/`.
  enum Claim: Sendable {
    case claimed(ClaimedFile)
    /// Somebody took it away, or it never was meant for us.
    case nothing
    /// A file of the same name is at work; try again when that is released.
    case namesakeAtWork
    /// It was moved to `failed/`.
    case refused(String)
  }

  /// Takes a file from `new/`: moves it to `cur/` and reads it there into memory.
  ///
  /// Moved first, because in `new/` its submitter may put another file under its name at any time, and what is read
  /// must be what is removed once its jobs are done.
  /// - Throws: where the file can't be moved; it lies in `new/` then, or in `cur/` for the next start to find.
  func claim(_ name: FileName, sizeLimit: Int) throws(SystemError) -> Claim {
    if name.isHidden { return .nothing }
    do throws(SystemError) {
      try new.rename(name, to: name, in: current, replacing: false)
    } catch {
      if error.code == .noEntry { return .nothing }
      if error.code == .exists { return .namesakeAtWork }
      throw error
    }
    let outcome: Result<ClaimedFile, Refusal>
    do throws(SystemError) { outcome = try reread(name, sizeLimit: sizeLimit) } catch {
      // If it can't go back, because there is a namesake by now, the next start finds it in cur/.
      try? current.rename(name, to: name, in: new, replacing: false)
      throw error
    }
    switch outcome {
    case .success(let file): return .claimed(file)
    case .failure(let refusal):
      try refuse(name, in: current, reason: refusal.reason)
      return .refused(refusal.reason)
    }
  }

  /// Whether a new entry is something that nobody will ever finish writing: a link, a folder, a FIFO.
  func isNoPlainFile(_ name: FileName) -> Bool {
    // An entry that is gone already needs nothing.
    guard let status = try? new.status(of: name) else { return false }
    return status.kind != .regular || status.linkCount > 1
  }

  /// Reads a file that lies in `cur/`.
  ///
  /// - Throws: what another attempt may not meet again, such as too many open files.
  func reread(_ name: FileName, sizeLimit: Int) throws(SystemError) -> Result<ClaimedFile, Refusal> {
    do throws(SystemError) { return try read(name, in: current, sizeLimit: sizeLimit) } catch {
      guard error.isLasting else { throw error }
      return .failure(Refusal(reason: "it can't be read: \(error.code.symbol)"))
    }
  }

  /// Why a file is not taken.
  struct Refusal: Error { let reason: String }

  private func read(
    _ name: FileName, in directory: Directory, sizeLimit: Int
  ) throws(SystemError) -> Result<ClaimedFile, Refusal> {
    let descriptor: FileDescriptor
    do throws(SystemError) {
      descriptor = try directory.openFile(name)
    } catch {
      // A symbolic link is refused by O_NOFOLLOW, a socket can't be opened.
      guard error.code == .symbolicLink || error.code.symbol == "ENXIO" else { throw error }
      return .failure(Refusal(reason: "it is no regular file"))
    }
    let status = try descriptor.status()
    guard status.kind == .regular else { return .failure(Refusal(reason: "it is no regular file")) }
    guard status.linkCount == 1 else {
      return .failure(Refusal(reason: "it has \(status.linkCount) hard links; a job file must have one"))
    }
    guard status.size <= sizeLimit else {
      return .failure(
        Refusal(reason: "it is larger than \(sizeLimit) bytes (\(status.size)); see [Spool] MaxJobFileSize"))
    }
    do throws(SystemError) {
      let data = try descriptor.readAll(limit: sizeLimit)
      return .success(
        ClaimedFile(
          name: name, data: data, submitter: try Submitter.user(of: descriptor, name, status), status: status,
          birthTime: try descriptor.birthTime()))
    } catch {
      guard error.code == .fileTooLarge else { throw error }
      return .failure(Refusal(reason: "it is larger than \(sizeLimit) bytes; see [Spool] MaxJobFileSize"))
    }
  }

  /// Moves a file to `failed/`, under another name if there is one already, with the reason beside it.
  ///
  /// The reason is there first, so that nobody finds a file without one.
  func refuse(_ name: FileName, in directory: Directory, reason: String) throws(SystemError) {
    let text = Data("\(name): \(reason)\n".utf8)
    let outcome = refusing.withLock { _ in
      Result { () throws(SystemError) in try move(name, from: directory, explaining: text) }
    }
    try outcome.get()
  }

  private func move(_ name: FileName, from directory: Directory, explaining text: Data) throws(SystemError) {
    var kept = name
    var number = 1
    while try isTaken(kept) {
      number += 1
      kept = name.shortened(by: 16).appending(".\(number)")
    }
    try failed.writeDurably(kept.reasonName, text, mode: 0o640)
    do throws(SystemError) {
      try directory.rename(name, to: kept, in: failed, replacing: false)
    } catch {
      try failed.unlink(kept.reasonName)
      // Its owner has taken it away meanwhile.
      if error.code != .noEntry { throw error }
    }
  }

  private func isTaken(_ kept: FileName) throws(SystemError) -> Bool {
    if try failed.contains(kept) { return true }
    return try failed.contains(kept.reasonName)
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

extension FileName {
  /// The name of the file that tells why the file of this name lies in `failed/`.
  fileprivate var reasonName: FileName { shortened(by: 7).appending(".reason") }

  /// The name without so many of its last bytes that the rest leaves room for an ending.
  fileprivate func shortened(by ending: Int) -> FileName {
    let longest = 255 - ending
    return bytes.count <= longest ? self : FileName(bytes: bytes.prefix(longest))
  }
}
