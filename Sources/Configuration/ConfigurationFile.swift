import FoundationEssentials
import Glibc

/// Finds and reads configuration files, with a limit on their size.
enum ConfigurationFile {
  /// Larger than any sensible file, and small enough to be read at once.
  static let maxSize = 1 << 20

  /// The bytes of the file, or nil if there is no file of this name.
  static func contents(of path: String) throws(ConfigurationProblem) -> [UInt8]? {
    // O_NONBLOCK: opening a FIFO must not wait for a writer.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw unreadable(path, errno)
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw unreadable(path, errno) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw unreadable(path, reason: "it is not a regular file") }
    let bytes = try read(descriptor, path)
    guard bytes.count <= maxSize else { throw unreadable(path, reason: "it is larger than \(maxSize >> 20) MiB") }
    return bytes
  }

  /// The paths of the `*.conf` files in a folder in lexical order of their bytes; none if there is no such folder.
  static func dropIns(in folder: String) throws(ConfigurationProblem) -> [String] {
    var status = stat()
    guard stat(folder, &status) == 0 else {
      if errno == ENOENT { return [] }
      throw unreadable(folder, errno)
    }
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: folder)
    } catch {
      throw unreadable(folder, reason: "the folder can't be listed; check that it is one, and its permissions")
    }
    return names.filter { $0.hasSuffix(".conf") && !$0.hasPrefix(".") }
      .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      .map { "\(folder)/\($0)" }
  }

  /// Reads up to one byte more than the limit, so that a file that grows meanwhile is noticed too.
  private static func read(_ descriptor: CInt, _ path: String) throws(ConfigurationProblem) -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while bytes.count <= maxSize {
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw unreadable(path, errno) }
      guard count > 0 else { break }
      bytes += chunk[..<count]
    }
    return bytes
  }

  private static func unreadable(_ path: String, _ code: CInt) -> ConfigurationProblem {
    unreadable(path, reason: strerror(code).map { String(cString: $0) } ?? "error \(code)")
  }

  private static func unreadable(_ path: String, reason: String) -> ConfigurationProblem {
    ConfigurationProblem(code: .unreadableFile, file: path, message: "can't be read: \(reason)")
  }
}
