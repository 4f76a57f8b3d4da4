import Foundation
import ImageProtocol
import JSONText
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport

/// A file of the store in the making: a helper writes it in the store's own folder, and an object takes it over.
///
/// The picture's bytes never pass through the daemon, except for a store without a folder.
final class StoredPicture: Sendable {
  private let title: String
  private let file: FileDescriptor
  /// The path of the file; nil for one in memory.
  private let path: String?
  private let isKept = Mutex(false)

  /// Makes an empty file.
  ///
  /// - Parameter folder: the store's, where files wait to be taken over; nil if it has none.
  init(title: String, in folder: String?) throws(SystemError) {
    self.title = title
    path = folder.map { $0 + "/" + UUID().uuidString }
    if let path {
      file = try FileDescriptor.open(path, .creatingExclusively, mode: 0o600)
    } else {
      file = try FileDescriptor.inMemory(named: "picture")
    }
  }

  /// The title that arguments ask to keep a picture under; nil if they don't.
  static func title(in reader: ArgumentReader, path: String) throws(JobFileError) -> String? {
    guard let store = reader.value("store") else { return nil }
    let storeReader = try ArgumentReader(store, path: path)
    try storeReader.allow(["title"])
    return try storeReader.text("title") ?? ""
  }

  /// The number of the open descriptor, valid while this object lives.
  var descriptor: Int32 { file.number }

  /// Makes objects of the written picture.
  ///
  /// - Returns: the `Image` as results name it, which is how replies name the objects that relationships lead to.
  nonisolated(nonsending) func keep(
    _ picture: ImageReply.Output, in context: ManagedObjectContext
  ) async throws -> JSONValue {
    let (title, content) = (title, try blob(byteCount: picture.bytes))
    return await context.perform { context in
      let image = Image(context: context)
      image.title = title
      image.format = picture.format.rawValue
      image.width = Int32(clamping: picture.width)
      image.height = Int32(clamping: picture.height)
      let blob = ImageBlob(context: context)
      blob.dataBlob = content
      image.blob = blob
      // An object's key is drawn when it is inserted and stays.
      return .object(["id": .string(String(image.objectID.key)), "entity": .string(Image.entityName)])
    }
  }

  private func blob(byteCount: Int) throws -> Blob {
    if let path {
      isKept.withLock { $0 = true }
      return Blob(stagedFile: path, byteCount: byteCount)
    }
    var data = Data(count: byteCount)
    var offset = 0
    while offset < byteCount {
      let count = try data.withUnsafeMutableBytes { buffer in
        try file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[offset...]), at: Int64(offset))
      }
      if count == 0 { break }
      offset += count
    }
    return Blob(data.prefix(offset))
  }

  deinit {
    // What can't be removed now is removed when the store is opened the next time.
    if let path, !isKept.withLock({ $0 }) { try? FileManager.default.removeItem(atPath: path) }
  }
}
