/// The rights to a file or folder, with the bits that a mode and an access control list use.
package struct Permission: OptionSet, Sendable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static let read = Permission(rawValue: 4)
  package static let write = Permission(rawValue: 2)
  /// To look names up in a folder: the bit that means "execute" for a file.
  package static let search = Permission(rawValue: 1)

  /// The letters that `chmod` and `setfacl` take.
  package var letters: String {
    [(Permission.read, "r"), (.write, "w"), (.search, "x")].filter { contains($0.0) }.map(\.1).joined()
  }
}
