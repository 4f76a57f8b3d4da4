import Glibc

extension FileDescriptor {
  /// The file's name in errors: see ``subject(of:)``.
  var subject: String { Self.subject(of: number) }

  /// A file's name in errors: its present path, or the kernel's name for a pipe, a socket and the like.
  ///
  /// Costs a system call, so it is for what has failed. Where `/proc` is out of reach, as in a confined process, the
  /// number has to do.
  static func subject(of number: Int32) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { target in
      let count = target.baseAddress.map { readlink("/proc/self/fd/\(number)", $0, target.count) } ?? 0
      guard count > 0 else { return "descriptor \(number)" }
      return String(decoding: UnsafeRawBufferPointer(target).prefix(count), as: UTF8.self)
    }
  }
}
