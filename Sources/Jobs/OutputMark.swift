package import SystemSupport

/// The mark on a file owned by the daemon that names the user it was made for.
///
/// Without root's rights a file can't be given to its submitter. The mark lets the same submitter's next job replace it
/// where only a file's owner may, and keeps it from passing for a file that the daemon's own user has submitted. Only
/// the file's owner can set it. Where the file system keeps no such attributes there is none, and both are refused.
package enum OutputMark {
  private static let attribute = "user.bobbin.submitter"

  package static func set(_ user: UInt32, on file: borrowing FileDescriptor) throws(SystemError) {
    _ = try file.setExtendedAttribute(attribute, to: Array("\(user)".utf8))
  }

  package static func user(of file: borrowing FileDescriptor) throws(SystemError) -> UInt32? {
    try file.extendedAttribute(attribute).flatMap { UInt32(String(decoding: $0, as: UTF8.self)) }
  }
}
