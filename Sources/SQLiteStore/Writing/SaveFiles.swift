import Foundation
import ObjectModel
import StoreInterface

/// The files that a save makes, takes over and drops.
struct SaveFiles {
  let files: ExternalFiles
  let threshold: Int
  private var added: [String] = []
  private var adopted: [(file: StagedFile, name: String)] = []
  private var dropped: [String] = []

  init(_ files: ExternalFiles, threshold: Int) {
    self.files = files
    self.threshold = threshold
  }

  /// Decides where a binary value goes, and writes its file if it needs a new one.
  ///
  /// - Parameters:
  ///   - base: the value that the stored row was known to have.
  ///   - oldName: the file that the stored row refers to.
  mutating func prepare(
    _ blob: Blob?, _ property: Property, base: Blob?, oldName: String?
  ) throws(StoreError) -> RowBinder.Binary {
    let binary = try place(blob, property, base: base, oldName: oldName)
    if let oldName {
      if case .file(oldName) = binary { return binary }
      dropped.append(oldName)
    }
    return binary
  }

  private mutating func place(
    _ blob: Blob?, _ property: Property, base: Blob?, oldName: String?
  ) throws(StoreError) -> RowBinder.Binary {
    guard let blob else { return .null }
    let isExternal = property.attribute?.allowsExternalBinaryDataStorage == true
    switch blob.content {
    case .data(let data):
      guard isExternal, data.count > threshold else { return .inline(data) }
      if let oldName, case .data(let old)? = base?.content, Self.isSameMemory(data, old) { return .file(oldName) }
      return .file(try keep { files throws(StoreError) in try data.writeAsFile(of: files) })
    case .staged(let file):
      let path = file.currentPath
      if let oldName, files.name(ofPath: path) == oldName { return .file(oldName) }
      guard isExternal else { return .inline(try Self.load(blob, path)) }
      let name = try keep { files throws(StoreError) in try files.add(fileAt: path, byteCount: file.byteCount) }
      if !file.isAdopted { adopted.append((file, name)) }
      return .file(name)
    case .stored(let path, let byteCount):
      if let oldName, files.name(ofPath: path) == oldName { return .file(oldName) }
      guard isExternal else { return .inline(try Self.load(blob, path)) }
      // The value of another object: each has a file of its own, so that deleting one keeps the other.
      return .file(try keep { files throws(StoreError) in try files.add(fileAt: path, byteCount: byteCount) })
    case .remote:
      guard isExternal else { return .inline(try Self.load(blob, files.folder)) }
      let data = try Self.load(blob, files.folder)
      return .file(try keep { files throws(StoreError) in try data.writeAsFile(of: files) })
    case .object: return .null
    }
  }

  private mutating func keep(_ make: (ExternalFiles) throws(StoreError) -> String) throws(StoreError) -> String {
    let name = try make(files)
    added.append(name)
    return name
  }

  /// Notes that the row that refers to a file is deleted.
  mutating func drop(_ name: String) { dropped.append(name) }

  /// Makes the new names durable; to be called before the commit.
  func sync() throws(StoreError) {
    if !added.isEmpty { try FileSystem.sync(files.folder) }
  }

  /// Takes staged files over and removes dropped ones, once the commit is on disk.
  ///
  /// - Parameter removesDropped: false while an enclosing transaction can bring their rows back; the sweep at the end of
  ///   opening removes them.
  func commit(removesDropped: Bool) {
    for (file, name) in adopted {
      file.markAdopted(as: files.path(name))
      FileSystem.remove(file.path)
    }
    if !removesDropped { return }
    if !dropped.isEmpty { files.removal.remove(dropped) }
  }

  /// Goes back to an earlier state of the same save, and removes the files made since.
  mutating func undo(to earlier: SaveFiles) {
    for name in added.dropFirst(earlier.added.count) { FileSystem.remove(files.path(name)) }
    self = earlier
  }

  /// Removes the new files of a save that was undone.
  func undo() {
    for name in added { FileSystem.remove(files.path(name)) }
  }

  private static func isSameMemory(_ left: Data, _ right: Data) -> Bool {
    left.count == right.count
      && left.withUnsafeBytes { left in right.withUnsafeBytes { left.baseAddress == $0.baseAddress } }
  }

  private static func load(_ blob: Blob, _ path: String) throws(StoreError) -> Data {
    do { return try blob.load() } catch {
      throw StoreError(.inputOutput, "the file of a binary value can't be read", path: path, detail: "\(error)")
    }
  }
}

extension Data {
  fileprivate func writeAsFile(of files: ExternalFiles) throws(StoreError) -> String {
    // `withUnsafeBytes` rethrows untyped errors, so the outcome is carried out as a value.
    let outcome = withUnsafeBytes { bytes in
      Swift.Result { () throws(StoreError) in try files.add(bytes) }
    }
    return try outcome.get()
  }
}
