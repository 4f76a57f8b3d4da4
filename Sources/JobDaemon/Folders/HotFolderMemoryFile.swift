import Foundation
import Synchronization
import SystemSupport

/// The file on disk with the ``HotFolderMemory`` of one hot folder.
///
/// What a crash loses of it, the IDs of jobs in the store still tell. Used on the queue of its folder.
final class HotFolderMemoryFile: Sendable {
  /// Larger than the lines of ten million files.
  private static let sizeLimit = 1 << 29

  private let folder: Directory
  private let name: FileName
  /// Lines that could not be written, as the disk was full: the next ones bring them along.
  private let unwritten = Mutex<[String]>([])

  var hasUnwritten: Bool { unwritten.withLock { !$0.isEmpty } }

  /// - Parameters:
  ///   - path: the folder of all such files, which is made if it is missing.
  ///   - name: the hot folder's name.
  init(in path: String, name: String) throws {
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    folder = try Directory(path: path)
    self.name = FileName(name)
  }

  /// Reads what is remembered; nothing if there is no file.
  func read() throws(SystemError) -> HotFolderMemory {
    guard try folder.contains(name) else { return HotFolderMemory() }
    let data = try folder.openFile(name).readAll(limit: Self.sizeLimit)
    return HotFolderMemory(text: String(decoding: data, as: UTF8.self))
  }

  /// Adds lines, which are on disk when this returns; if it throws they are added with the next ones.
  func append(_ lines: [String]) throws(SystemError) {
    let lines = unwritten.withLock { unwritten in
      unwritten += lines
      return unwritten
    }
    // A line break in front keeps a line apart from one that a crash has left half written.
    let file = try FileDescriptor.open(folder.path + "/" + (name.string ?? ""), .appending)
    try file.writeAll(Data(("\n" + lines.joined()).utf8))
    try file.synchronize()
    unwritten.withLock { $0 = [] }
  }

  /// Replaces the file.
  func write(_ memory: HotFolderMemory) throws(SystemError) {
    try folder.writeDurably(name, Data(memory.text.utf8))
    unwritten.withLock { $0 = [] }
  }
}
