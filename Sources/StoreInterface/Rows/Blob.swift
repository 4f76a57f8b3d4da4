public import Foundation
import Synchronization

/// Binary data by reference: bytes in memory, or a file that nobody has read yet.
///
/// Copying a blob never copies its bytes.
public struct Blob: Sendable {
  package enum Content: Sendable {
    case data(Data)
    /// A file that the store takes over at the save, by rename.
    case staged(StagedFile)
    /// A file that the store owns.
    case stored(path: String, byteCount: Int)
    /// Bytes that a database keeps apart from their row.
    case remote(RemoteValue)
    /// No bytes but a value in memory, of a transient attribute without a type.
    case object(any Sendable)
  }

  package let content: Content

  package init(_ content: Content) { self.content = content }

  /// A value that lives in memory only.
  package init(object: any Sendable) { content = .object(object) }

  /// The value in memory that stands in for bytes; nil if there are bytes.
  package var object: (any Sendable)? { if case .object(let object) = content { object } else { nil } }

  /// Data in memory.
  public init(_ data: Data) { content = .data(data) }

  /// A file to be taken over by the store at the save; it should lie on the store's file system.
  ///
  /// The file is removed if the blob is dropped without having been saved.
  public init(stagedFile path: String, byteCount: Int) {
    content = .staged(StagedFile(path: path, byteCount: byteCount))
  }

  /// The number of bytes; reads nothing.
  public var byteCount: Int {
    switch content {
    case .data(let data): data.count
    case .staged(let file): file.byteCount
    case .stored(_, let byteCount): byteCount
    case .remote(let value): value.byteCount
    case .object: 0
    }
  }

  /// Reads the bytes; from disk if they are in a file.
  public func load() throws -> Data {
    switch content {
    case .data(let data): data
    case .staged(let file): try Data(contentsOf: URL(fileURLWithPath: file.currentPath))
    case .stored(let path, _): try Data(contentsOf: URL(fileURLWithPath: path))
    case .remote(let value): try value.load()
    case .object: Data()
    }
  }

  /// The bytes that the blob keeps in memory, about; Foundation does not tell what its data take beside their bytes.
  package var residentByteCount: Int {
    if case .data(let data) = content { data.count + 128 } else { 128 }
  }
}

/// A large value in a database, by reference; its bytes are read when they are asked for.
package final class RemoteValue: Sendable {
  /// The name under which the database has it, used once.
  package let name: String
  package let byteCount: Int
  private let read: @Sendable () throws -> Data

  /// - Parameter read: reads the bytes from the database.
  package init(name: String, byteCount: Int, read: @escaping @Sendable () throws -> Data) {
    self.name = name
    self.byteCount = byteCount
    self.read = read
  }

  fileprivate func load() throws -> Data { try read() }
}

/// A finished file that waits for a store to take it over; removed with its last holder unless a store did.
package final class StagedFile: Sendable {
  package let path: String
  package let byteCount: Int
  private let adoptedPath = Mutex<String?>(nil)

  package init(path: String, byteCount: Int) {
    self.path = path
    self.byteCount = byteCount
  }

  /// Notes that a store owns the file now, at a new path.
  package func markAdopted(as path: String) { adoptedPath.withLock { $0 = path } }

  /// The path of the file now.
  package var currentPath: String { adoptedPath.withLock { $0 } ?? path }

  /// True if a store has taken the file over.
  package var isAdopted: Bool { adoptedPath.withLock { $0 != nil } }

  deinit {
    // A file that is gone already is what we want; nobody is left to be told of another failure.
    if !isAdopted { try? FileManager.default.removeItem(atPath: path) }
  }
}
