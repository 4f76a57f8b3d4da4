import Glibc

/// The user database: `/etc/passwd` and `/etc/group`, and what a directory service adds to them.
///
/// Each question costs a look into the files, or a request to the service, which may take a while.
package enum UserDatabase {
  /// The name and the main group of a user; nil for an unknown number.
  static func user(_ number: UInt32) throws(SystemError) -> (name: String, group: UInt32)? {
    try entry(passwd(), "getpwuid_r", of: "user \(number)") {
      getpwuid_r(number, &$0, $1, $2, &$3)
    } reading: {
      ($0.pw_name.map { String(cString: $0) } ?? "", $0.pw_gid)
    }
  }

  /// A user by name; nil for an unknown one.
  static func user(named name: String) throws(SystemError) -> (user: UInt32, group: UInt32, home: String)? {
    try entry(passwd(), "getpwnam_r", of: name) {
      getpwnam_r(name, &$0, $1, $2, &$3)
    } reading: {
      ($0.pw_uid, $0.pw_gid, $0.pw_dir.map { String(cString: $0) } ?? "/")
    }
  }

  /// The name of a group and the names of its members; nil for an unknown number.
  static func group(_ number: UInt32) throws(SystemError) -> (name: String, members: [String])? {
    try entry(Glibc.group(), "getgrgid_r", of: "group \(number)") {
      getgrgid_r(number, &$0, $1, $2, &$3)
    } reading: {
      var members: [String] = []
      var next = $0.gr_mem
      while let member = next?.pointee {
        members.append(String(cString: member))
        next = next?.advanced(by: 1)
      }
      return ($0.gr_name.map { String(cString: $0) } ?? "", members)
    }
  }

  /// The number of a group; nil for an unknown name.
  package static func group(named name: String) throws(SystemError) -> UInt32? {
    try entry(Glibc.group(), "getgrnam_r", of: name) {
      getgrnam_r(name, &$0, $1, $2, &$3)
    } reading: {
      $0.gr_gid
    }
  }

  /// Asks with a buffer that is large enough.
  ///
  /// - Parameters:
  ///   - empty: an entry to be filled, whose texts lie in the buffer.
  ///   - reading: takes what is wanted, while the buffer is there.
  private static func entry<Entry, Value>(
    _ empty: Entry, _ call: String, of subject: String,
    asking ask: (inout Entry, UnsafeMutablePointer<CChar>, Int, inout UnsafeMutablePointer<Entry>?) -> Int32,
    reading read: (Entry) -> Value
  ) throws(SystemError) -> Value? {
    // A group may have very many members.
    let mostBytes = 1 << 24
    var size = 4096
    while true {
      let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: size)
      defer { buffer.deallocate() }
      var entry = empty
      var found: UnsafeMutablePointer<Entry>?
      switch ask(&entry, buffer, size, &found) {
      case 0: return found.map { _ in read(entry) }
      case ERANGE where size < mostBytes: size *= 4
      // Sources differ in what they return for an unknown name or number; see getpwnam(3).
      case ENOENT, ESRCH, EBADF, EPERM: return nil
      case EINTR: continue
      case let code: throw SystemError(.init(rawValue: code), call: call, subject: subject)
      }
    }
  }
}
