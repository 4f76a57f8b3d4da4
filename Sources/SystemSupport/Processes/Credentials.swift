import Glibc

/// Who this process is.
package enum Credentials {
  package static var effectiveUser: UInt32 { geteuid() }
  package static var effectiveGroup: UInt32 { getegid() }
  package static var processID: Int32 { getpid() }
}
