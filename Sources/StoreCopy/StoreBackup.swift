import Foundation
import Glibc
package import JSONText
import SQLiteStore
import StoreInterface
import SystemSupport

/// A backup of a daemon's folder: the store as one moment had it, and the small files beside it, as a folder that can take
/// the place of the daemon's.
///
/// It needs no daemon, and disturbs none: see ``StoreFileCopy``. The folder gets its name when it is complete and on disk.
package struct StoreBackup: Sendable {
  private static let format: Int64 = 1

  /// The reason why there can be no backup at a place.
  package struct Refusal: Error, CustomStringConvertible {
    package let description: String
    package let hint: String
  }

  private let store: URL
  private let companions: [String]
  private let manifestName: FileName
  private let folder: URL
  private let replaces: Bool
  private let release: String

  private var name: FileName { FileName(folder.lastPathComponent) }
  /// The name until the backup is complete.
  private var temporaryName: FileName { FileName(".\(folder.lastPathComponent).partial") }
  private var temporary: URL { folder.deletingLastPathComponent().appending(path: temporaryName.description) }

  /// Describes a backup.
  ///
  /// - Parameters:
  ///   - store: the path of the store.
  ///   - companions: names of files and folders beside the store that belong to it, if they are there.
  ///   - manifest: the name of the file that tells what is in the backup, and that it is one.
  ///   - folder: the path of the backup.
  ///   - replaces: true to put it into the place of an earlier one.
  ///   - release: the release that makes it.
  package init(
    of store: String, with companions: [String], manifest: String, to folder: String, replacing replaces: Bool,
    by release: String
  ) {
    self.store = URL(fileURLWithPath: store).standardizedFileURL
    self.companions = companions
    manifestName = FileName(manifest)
    self.folder = URL(fileURLWithPath: folder).standardizedFileURL
    self.replaces = replaces
    self.release = release
  }

  /// Makes the backup; after an error nothing is left of it.
  ///
  /// - Parameter progress: told how many bytes of the database are copied, of how many.
  /// - Returns: the manifest.
  /// - Throws: ``Refusal``, `StoreError` or `SystemError`.
  package func run(_ progress: (Int64, Int64) -> Void) throws -> JSONValue {
    let start = Date()
    try checkStore()
    let parent = try Directory(path: folder.deletingLastPathComponent().path)
    let isThere = try checkPlace(parent)
    let lock = try makeFolder(parent)
    defer { withExtendedLifetime(lock) {} }
    let manifest: JSONValue
    do {
      manifest = try fill(start, progress)
      try Directory(path: temporary.path).synchronize()
      if isThere { try parent.exchange(temporaryName, with: name) } else { try parent.rename(temporaryName, to: name) }
      try parent.synchronize()
    } catch {
      try? FileManager.default.removeItem(at: temporary)
      throw error
    }
    if isThere { try FileManager.default.removeItem(at: temporary) }
    return manifest
  }

  private func checkStore() throws {
    do throws(SystemError) { _ = try FileDescriptor.open(store.path) } catch {
      guard error.code == .noEntry else { throw error }
      throw StoreError(.cannotOpen, "there is no store to back up; check the path", path: store.path)
    }
  }

  /// Looks at what is in the place of the backup; true if it is an earlier one that is to be replaced.
  private func checkPlace(_ parent: Directory) throws -> Bool {
    guard try parent.contains(name) else { return false }
    let entries: [FileName]
    do throws(SystemError) { entries = try parent.openDirectory(name).entries() } catch {
      throw Refusal(
        description: "\(displayName(folder.path)) is there already, and is no folder of a backup",
        hint: "name a folder that does not exist")
    }
    // One that is empty just gives its name.
    if entries.isEmpty { return false }
    guard entries.contains(manifestName) else {
      throw Refusal(
        description: "\(displayName(folder.path)) is there already, and is no backup",
        hint: "name a folder that does not exist; each backup has one of its own")
    }
    if replaces { return true }
    throw Refusal(
      description: "\(displayName(folder.path)) is a backup already, and is not overwritten",
      hint: "name another folder, or give --replace")
  }

  /// Makes the folder under its temporary name, and locks it; what a killed run has left there is removed.
  private func makeFolder(_ parent: Directory) throws -> FolderKeeper {
    if try parent.contains(temporaryName) {
      guard try FolderKeeper(temporary.path).isAlone else {
        throw Refusal(
          description: "another backup to \(displayName(folder.path)) is under way", hint: "wait until it has ended")
      }
      try FileManager.default.removeItem(at: temporary)
    }
    try parent.makeDirectory(temporaryName, mode: 0o700)
    return try FolderKeeper(temporary.path)
  }

  private func fill(_ start: Date, _ progress: (Int64, Int64) -> Void) throws -> JSONValue {
    // Before the store: what they remember of later jobs would keep those from being submitted again.
    for companion in companions { try copy(companion) }
    let target = temporary.appending(path: store.lastPathComponent).path
    let files = StoreFileCopy.filesFolder(ofStoreAt: target)
    let folder = try Directory(path: temporary.path)
    try folder.makeDirectory(FileName((files as NSString).lastPathComponent))
    let copy = StoreFileCopy(of: store.path, to: target, files: files, mode: 0o600)
    let content = try copy.run { (done, total) throws(StoreError) in progress(done, total) }
    let manifest = manifest(content, rows: try copy.check(), start: start)
    try folder.writeDurably(manifestName, Data((manifest.serialized() + "\n").utf8))
    return manifest
  }

  private func manifest(_ content: StoreFileCopy.Content, rows: [String: Int64], start: Date) -> JSONValue {
    .object([
      "format": .integer(Self.format), "time": .string(start.ISO8601Format()), "release": .string(release),
      "store": .string(content.store), "storeBytes": .integer(content.bytes),
      "largeValues": .integer(Int64(content.largeValues.count)), "largeValueBytes": .integer(content.largeValueBytes),
      "rows": Self.object(rows) { .integer($0) }, "models": Self.object(content.entities) { .string($0) },
    ])
  }

  private static func object<Value>(_ values: [String: Value], _ json: (Value) -> JSONValue) -> JSONValue {
    var object = JSONObject()
    for (name, value) in values.sorted(by: { $0.key < $1.key }) { object[name] = json(value) }
    return .object(object)
  }

  /// Copies a file, or the files of a folder, from beside the store.
  private func copy(_ name: String) throws {
    let source = try Directory(path: store.deletingLastPathComponent().path)
    let target = try Directory(path: temporary.path)
    guard try source.contains(FileName(name)) else { return }
    if try source.status(of: FileName(name)).kind != .directory {
      return try Self.copy(FileName(name), from: source, to: target)
    }
    try target.makeDirectory(FileName(name))
    let (from, to) = (try source.openDirectory(FileName(name)), try target.openDirectory(FileName(name)))
    for entry in try from.entries() where !entry.isHidden { try Self.copy(entry, from: from, to: to) }
  }

  private static func copy(_ name: FileName, from source: Directory, to target: Directory) throws {
    let data: Data
    do throws(SystemError) { data = try source.openFile(name).readAll(limit: 1 << 30) } catch {
      // It is gone meanwhile.
      if error.code == .noEntry { return }
      throw error
    }
    try target.writeDurably(name, data)
  }
}

/// A lock on a folder that is being filled, while this lives.
private final class FolderKeeper {
  private let descriptor: FileDescriptor
  /// True if nobody else had the lock.
  let isAlone: Bool

  init(_ path: String) throws(SystemError) {
    let descriptor = try FileDescriptor.open(path)
    isAlone = try descriptor.lock()
    self.descriptor = descriptor
  }
}
