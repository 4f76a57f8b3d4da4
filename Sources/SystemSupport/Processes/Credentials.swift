import Glibc

/// The user, group and ID of this process.
package enum Credentials {
  package static var effectiveUser: UInt32 { geteuid() }
  package static var effectiveGroup: UInt32 { getegid() }
  package static var processID: Int32 { getpid() }
}
