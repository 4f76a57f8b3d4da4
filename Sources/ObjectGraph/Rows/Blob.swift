public import Foundation

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
  }

  package let content: Content

  package init(_ content: Content) { self.content = content }

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
    }
  }

  /// Reads the bytes; from disk if they are in a file.
  public func load() throws -> Data {
    switch content {
    case .data(let data): data
    case .staged(let file): try Data(contentsOf: URL(fileURLWithPath: file.currentPath))
    case .stored(let path, _): try Data(contentsOf: URL(fileURLWithPath: path))
    }
  }

  /// The bytes that the blob keeps in memory.
  package var residentByteCount: Int {
    if case .data(let data) = content { data.count } else { 128 }
  }
}
