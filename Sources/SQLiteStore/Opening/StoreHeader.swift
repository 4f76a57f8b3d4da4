import Glibc
import StoreInterface

/// The header of a store's file, by which it is known without being opened.
struct StoreHeader {
  let path: String

  /// True if the file is there; throws if it is something other than a store of ours, without touching it.
  func check() throws(StoreError) -> Bool {
    let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    if descriptor < 0 {
      let code = errno
      if code == ENOENT { return false }
      throw StoreError(.cannotOpen, "the store can't be opened: \(String(cString: strerror(code)))", path: path)
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw StoreError(.cannotOpen, "the store can't be opened: it is no regular file", path: path)
    }
    var header = [UInt8](repeating: 0, count: 100)
    let count = try FileSystem.call("read", path) { pread(descriptor, &header, 100, 0) }
    guard count == 100, header.starts(with: Array("SQLite format 3\0".utf8)) else {
      throw StoreError(
        .notAStore,
        status.st_size == 0 ? "the file is empty; remove it to have a new store made" : "the file is no store",
        path: path)
    }
    func number(at offset: Int) -> Int32 {
      header[offset..<offset + 4].reduce(0) { $0 << 8 | Int32(bitPattern: UInt32($1)) }
    }
    guard number(at: 68) == StoreOpener.applicationID else {
      throw StoreError(.notAStore, "the file is an SQLite database of another program", path: path)
    }
    try checkVersion(number(at: 60))
    return true
  }

  /// True if the file has a write-ahead log, as stores in use have and copies for other programs have not.
  func hasWriteAheadLog() throws(StoreError) -> Bool {
    let descriptor = try FileSystem.call("open", path) { Glibc.open(path, O_RDONLY | O_CLOEXEC) }
    defer { close(descriptor) }
    var version: UInt8 = 0
    try FileSystem.call("read", path) { pread(descriptor, &version, 1, 18) }
    return version == 2
  }

  func checkVersion(_ version: Int32) throws(StoreError) {
    guard version <= StoreOpener.formatVersion else {
      throw StoreError(
        .incompatibleModel,
        "the store has format \(version), of a newer release than this one, which reads up to \(StoreOpener.formatVersion)",
        path: path)
    }
    guard version > 0 else { throw StoreError(.corrupt, "the store's header tells no format version", path: path) }
  }
}
