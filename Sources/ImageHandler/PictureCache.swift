import Foundation
import Glibc
import ImageProtocol
import Synchronization
import SystemSupport

/// Pictures that were made for jobs that may share theirs, in a folder for each input and each way to encode it.
///
/// A folder appears whole, by rename. When they get too large together, those that were used longest ago are removed.
final class PictureCache: Sendable {
  private struct Entry {
    var bytes: Int
    /// When it was used last, in the order of uses.
    var use: Int
  }

  private struct State {
    /// By the folder's name; nil until the first use.
    var entries: [String: Entry]?
    var bytes = 0
    var uses = 0
    /// Jobs that wait for pictures that another one is making.
    var making: [String: [CheckedContinuation<Void, Never>]] = [:]
  }

  private let folder: String
  private let state = Mutex(State())

  /// - Parameter folder: made when it is needed.
  init(folder: String) {
    self.folder = folder
  }

  // MARK: Looking

  /// Returns the picture kept under a name; nil if the caller has to make it and to call ``finish(_:)`` then.
  func find(_ name: String, for request: ImageRequest) async -> KnownPicture? {
    while !claim(name) { await waitForEnd(of: name) }
    guard let known = open(name, for: request) else { return nil }
    finish(name)
    return known
  }

  private func claim(_ name: String) -> Bool {
    state.withLock { state in
      if state.making[name] != nil { return false }
      state.making[name] = []
      return true
    }
  }

  private func waitForEnd(of name: String) async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let isOver = state.withLock { state in
        state.making[name]?.append(continuation)
        return state.making[name] == nil
      }
      if isOver { continuation.resume() }
    }
  }

  /// Resumes jobs that wait for pictures of this name, whether they were made or not.
  func finish(_ name: String) {
    let waiting = state.withLock { $0.making.removeValue(forKey: name) } ?? []
    for continuation in waiting { continuation.resume() }
  }

  private func open(_ name: String, for request: ImageRequest) -> KnownPicture? {
    loadEntries()
    let isThere = state.withLock { state in
      state.uses += 1
      state.entries?[name]?.use = state.uses
      return state.entries?[name] != nil
    }
    guard isThere else { return nil }
    let path = folder + "/" + name
    guard let data = try? Data(contentsOf: URL(filePath: path + "/" + KeptPicture.fileName)),
      let kept = try? JSONDecoder().decode(KeptPicture.self, from: data), kept.request == request,
      let known = kept.open(in: path)
    else {
      // A picture that can't be read counts as missing; it is made again and replaced.
      remove(name)
      return nil
    }
    // The order of uses outlives a restart by the folders' times.
    utimes(path, nil)
    return known
  }

  // MARK: Keeping

  /// An empty folder for pictures in the making.
  func makeDraft() throws -> String {
    loadEntries()
    let path = folder + "/" + Self.draftPrefix + UUID().uuidString
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    return path
  }

  /// Gives a finished folder its name, durably, and removes others until all together are small enough.
  func keep(_ draft: String, as name: String, bytes: Int, limit: Int) throws(SystemError) {
    try Directory(path: draft).synchronize()
    remove(name)
    try systemCall("rename", draft) { rename(draft, folder + "/" + name) }
    try Directory(path: folder).synchronize()
    let old = state.withLock { state in
      state.uses += 1
      state.entries?[name] = Entry(bytes: bytes, use: state.uses)
      state.bytes += bytes
      return Self.oldest(of: state, limit: limit)
    }
    for name in old { remove(name) }
  }

  private static func oldest(of state: State, limit: Int) -> [String] {
    guard state.bytes > limit, let entries = state.entries else { return [] }
    // A tenth more than necessary, so that the entries are not sorted each time.
    var excess = state.bytes - limit + limit / 10
    return entries.sorted { $0.value.use < $1.value.use }.prefix { entry in
      defer { excess -= entry.value.bytes }
      return excess > 0
    }.map(\.key)
  }

  private func remove(_ name: String) {
    state.withLock { state in
      if let entry = state.entries?.removeValue(forKey: name) { state.bytes -= entry.bytes }
    }
    // What can't be removed is found again when the daemon starts the next time.
    try? FileManager.default.removeItem(atPath: folder + "/" + name)
  }

  private static let draftPrefix = ".draft-"

  /// Looks once at what an earlier daemon has left.
  private func loadEntries() {
    if state.withLock({ $0.entries != nil }) { return }
    var found: [(name: String, bytes: Int, time: Int64)] = []
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      let path = folder + "/" + name
      if name.hasPrefix(Self.draftPrefix) {
        try? FileManager.default.removeItem(atPath: path)
        continue
      }
      guard let folder = try? Directory(path: path), let status = try? folder.status() else { continue }
      let files = (try? folder.entries()) ?? []
      let bytes = files.reduce(0) { $0 + Int((try? folder.status(of: $1).size) ?? 0) }
      found.append((name, bytes, status.modificationTime))
    }
    found.sort { $0.time < $1.time }
    state.withLock { state in
      guard state.entries == nil else { return }
      state.entries = [:]
      for (index, entry) in found.enumerated() {
        state.entries?[entry.name] = Entry(bytes: entry.bytes, use: index - found.count)
        state.bytes += entry.bytes
      }
    }
  }
}

/// The description beside a kept picture: the request, and what was reported of it.
struct KeptPicture: Codable {
  static let fileName = "description.json"
  /// The picture itself; a placeholder has none.
  static let pictureName = "0"

  /// Raised when kept pictures must be made anew: for another form of this, or another way of encoding.
  static let version = 3

  var version = KeptPicture.version
  /// Asks for one output, or for a placeholder.
  let request: ImageRequest
  let output: ImageReply.Output?
  let placeholder: ImageReply.Placeholder?

  /// Opens the picture; nil if it is missing or is not what it was.
  func open(in folder: String) -> KnownPicture? {
    guard version == Self.version else { return nil }
    guard let output else { return KnownPicture(output: nil, placeholder: placeholder, file: nil) }
    guard let file = try? FileDescriptor.open("\(folder)/\(Self.pictureName)"), let size = try? file.status().size,
      size == output.bytes
    else { return nil }
    return KnownPicture(output: output, placeholder: nil, file: file.relinquish())
  }
}
