import CLinux
import Glibc

/// The program this process runs.
package enum Executable {
  /// Its absolute path, from the kernel, not from the arguments.
  package static func ownPath() throws(SystemError) -> String {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = try systemCall("readlink", "/proc/self/exe") { readlink("/proc/self/exe", &buffer, buffer.count) }
    return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// The directory it lies in, where the programs installed with it are.
  package static func ownDirectory() throws(SystemError) -> String {
    let path = try ownPath()
    let directory = path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex)
    return directory.isEmpty ? "/" : String(directory)
  }
}
