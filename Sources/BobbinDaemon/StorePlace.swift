import Configuration
import Foundation
import Glibc
import JobDaemon
import ObjectGraph
import SystemSupport

/// The folder of the store: sees that it is the daemon's own, and that no daemon begins an empty store because it looks
/// into another folder than before.
///
/// A file in the usual folder tells where the store was last, if that was elsewhere: a file system that is not mounted, or
/// a setting that got lost, is noticed by it.
struct StorePlace {
  private let paths: Paths
  private var folder: String { paths.state }
  private var isUsual: Bool { folder == paths.defaultState }

  /// - Parameter paths: as the configuration places the store.
  init(_ paths: Paths) { self.paths = paths }

  /// Sees that the store can be kept there; changes nothing.
  ///
  /// - Throws: `StoreError` that says what to do.
  func check() throws {
    if !isUsual, try isThere(folder) { try checkRights() }
    if try isThere(paths.store) { return }
    let last = try lastPlace()
    if let last, last == folder {
      throw refusal(
        "the store was in this folder at the last start, and is not there now; see that its file system is mounted, put the "
          + "store back, or remove \(paths.storePlace) to begin with an empty one")
    }
    // Where the store was last, it may still be.
    guard let other = last ?? (isUsual ? nil : paths.defaultState), try isThere(other + "/" + Paths.storeFile) else {
      guard let last else { return }
      throw refusal(
        "there is no store in this folder, and at the last start it was in \(last); set [Store] Path= to where it is, move "
          + "it here, or remove \(paths.storePlace) to begin with an empty one")
    }
    throw refusal(
      "there is no store in this folder, but there is one in \(other); stop the daemon and move all files of that folder here, "
        + "or set [Store] Path=\(other == paths.defaultState ? "" : other) to go on there")
  }

  /// Makes the folder if it is missing, sees that it is the daemon's own, and locks it against other daemons.
  ///
  /// - Parameter hasStore: false in a fleet, whose store is in a database, wherever it was before.
  func prepare(hasStore: Bool, _ log: DaemonLog) throws -> [FileLock] {
    if hasStore { try check() }
    if isUsual { try close(log) } else { try make() }
    // The usual folder is locked in any case: it stands for the spool, which has one daemon too.
    return try Set([paths.defaultState, folder]).sorted().map { try FileLock(path: $0 + "/lock") }
  }

  /// Notes where the store is, once it is open; without the note the next start is only less careful.
  func note(_ log: DaemonLog) {
    do { try note() } catch { log.error("where the store is can't be noted for the next start: \(error)") }
  }

  private func note() throws {
    let folder = try Directory(path: paths.defaultState)
    let name = FileName((paths.storePlace as NSString).lastPathComponent)
    if isUsual {
      if try folder.contains(name) { try folder.unlink(name) }
    } else if try lastPlace() != self.folder {
      try folder.writeDurably(name, Data((self.folder + "\n").utf8))
    }
  }

  // MARK: Steps

  private func lastPlace() throws(SystemError) -> String? {
    do throws(SystemError) {
      let text = String(decoding: try FileDescriptor.open(paths.storePlace).readAll(limit: 1 << 16), as: UTF8.self)
      return text.trimmingCharacters(in: .newlines)
    } catch {
      if error.code == .noEntry { return nil }
      throw error
    }
  }

  private func isThere(_ path: String) throws(StoreError) -> Bool {
    var status = stat()
    do throws(SystemError) { try systemCall("stat", path) { stat(path, &status) } } catch {
      if error.code == .noEntry || error.code == .notDirectory { return false }
      throw StoreError(.readOnly, Sandbox.reason(of: error, keeping: path), path: path)
    }
    return true
  }

  /// Refuses a folder of somebody else's, or one that others see into: it may be for something else as well.
  private func checkRights() throws {
    let folder: Directory
    do throws(SystemError) {
      folder = try Directory(path: self.folder)
      try folder.checkWritable()
    } catch { throw refusal(Sandbox.reason(of: error, keeping: paths.store)) }
    let status = try folder.status()
    // Root may be somebody who tries the configuration.
    if status.owner != Credentials.effectiveUser, Credentials.effectiveUser != 0 {
      throw refusal("the folder of the store must be the daemon's own; chown it to the user that the daemon runs as")
    }
    if status.mode & 0o077 != 0 {
      throw refusal(
        "the folder of the store is open to other users (mode 0\(String(status.mode, radix: 8))), who could read and lock the "
          + "store; chmod 700 it, or name a folder for the store alone")
    }
  }

  private func make() throws {
    if try isThere(folder) { return }
    do throws(SystemError) {
      try systemCall("mkdir", folder) { mkdir(folder, 0o700) }
      try Directory(path: URL(filePath: folder).deletingLastPathComponent().path).synchronize()
    } catch {
      if error.code == .noEntry { throw refusal("the folder that it is to lie in is missing; make that first") }
      throw refusal(Sandbox.reason(of: error, keeping: paths.store))
    }
  }

  /// Restricts the usual folder to the daemon's user: whoever can open the store's files can read everything jobs have
  /// stored, and can keep them locked.
  private func close(_ log: DaemonLog) throws {
    let mode = try Directory(path: folder).status().mode
    if mode & 0o077 == 0 { return }
    try systemCall("chmod", folder) { chmod(folder, mode_t(mode & 0o700)) }
    log.notice("\(folder) was open to other users (mode 0\(String(mode, radix: 8))); it is the daemon's own now (0700)")
  }

  private func refusal(_ message: String) -> StoreError { StoreError(.cannotOpen, message, path: folder) }
}
