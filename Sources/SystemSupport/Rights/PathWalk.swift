import CLinux
import Glibc

/// Follows a path for a user other than the one this process runs as, folder by folder, with that user's rights.
///
/// The kernel would follow it with this process's rights, and between a check and an open somebody could exchange what
/// was checked. So every component is opened as a path only and checked on its descriptor, and that very descriptor is
/// used in the end. Symbolic links are read and followed by hand, with the rules of
/// path_resolution(7). In a folder that not only its owner may write to, only links are followed that belong to the user,
/// to the folder's owner or to root: more than `fs.protected_symlinks` in proc(5) asks for, since a group may be made of
/// people who are to be kept apart.
struct PathWalk: ~Copyable {
  /// As many symbolic links as the kernel follows.
  private static let linkLimit = 40
  /// A component that means the folder itself.
  private static let here = FileName(".")

  private let user: UserIdentity
  private let path: String
  private var folder: PathNode
  /// The components still to go, the next one last.
  private var rest: [FileName] = []
  private var links = 0

  /// Begins at the root of the file system.
  init(_ path: String, for user: UserIdentity) throws(PathProblem) {
    self.user = user
    self.path = path
    guard path.utf8.first == UInt8(ascii: "/") else { throw PathProblem("the path is not absolute") }
    do throws(SystemError) { folder = try Self.root() } catch { throw PathProblem(error) }
  }

  /// Follows the components; returns where they lead to, which may be a folder.
  ///
  /// - Parameter components: From `components(of:)`.
  consuming func node(at components: [FileName]) throws(PathProblem) -> PathNode {
    if let file = try go(components) { return file }
    return folder
  }

  /// Follows the components to a folder in which the user must have these rights.
  consuming func folder(at components: [FileName], granting wanted: Permission) throws(PathProblem) -> PathNode {
    if try go(components) != nil { throw PathProblem(SystemError(.notDirectory, call: "open", subject: path)) }
    try require(wanted)
    return folder
  }

  /// Follows the components; returns the file at the end, or nil if `folder` is the end.
  private mutating func go(_ components: [FileName]) throws(PathProblem) -> PathNode? {
    rest = components.reversed()
    while let name = rest.popLast() {
      try require(.search)
      if name == Self.here { continue }
      let node = try child(name)
      switch node.status.kind {
      case .symbolicLink: try follow(node)
      case .directory: folder = node
      default:
        if rest.isEmpty { return node }
        throw PathProblem(SystemError(.notDirectory, call: "open", subject: path))
      }
    }
    return nil
  }

  /// The components of a path without empty ones and `.`; a trailing one that means "a folder" stays.
  static func components(of path: [UInt8]) -> [FileName] {
    let parts = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map { FileName(bytes: $0) }
    var names = parts.filter { !$0.bytes.isEmpty && $0 != here }
    if let last = parts.last, last.bytes.isEmpty || last == here { names.append(here) }
    return names
  }

  private static func root() throws(SystemError) -> PathNode {
    let flags = linux_open_path | O_DIRECTORY | O_CLOEXEC
    return try PathNode(FileDescriptor(owning: try systemCall("open", "/") { open("/", flags) }), place: "/")
  }

  private func child(_ name: FileName) throws(PathProblem) -> PathNode {
    let parent = folder.descriptor.number
    do throws(SystemError) {
      let number = try name.withCString { (pointer) throws(SystemError) in
        try systemCall("open", path) { openat(parent, pointer, linux_open_path | O_NOFOLLOW | O_CLOEXEC) }
      }
      return try PathNode(FileDescriptor(owning: number), place: place(of: name))
    } catch {
      throw PathProblem(error)
    }
  }

  private func place(of name: FileName) -> String {
    if name == ".." {
      let parent = folder.place.split(separator: "/").dropLast().joined(separator: "/")
      return "/" + parent
    }
    return (folder.place == "/" ? "" : folder.place) + "/" + (name.string ?? name.description)
  }

  private mutating func follow(_ link: borrowing PathNode) throws(PathProblem) {
    links += 1
    if links > Self.linkLimit { throw PathProblem(SystemError(.symbolicLink, call: "open", subject: path)) }
    // In a folder where others may put links, a link is followed only for its own creator.
    if folder.status.isWritableByOthers, ![0, user.user, folder.status.owner].contains(link.status.owner) {
      throw PathProblem(
        "the symbolic link \(displayName(link.place)) belongs to another user, in a folder that others may write to; "
          + "name what it leads to instead")
    }
    try refuseKernelFiles(link)
    let target: [UInt8]
    do throws(SystemError) { target = try link.descriptor.linkTarget() } catch { throw PathProblem(error) }
    if target.isEmpty { throw PathProblem(SystemError(.noEntry, call: "open", subject: path)) }
    if target.first == UInt8(ascii: "/") {
      do throws(SystemError) { folder = try Self.root() } catch { throw PathProblem(error) }
    }
    rest += Self.components(of: target).reversed()
  }

  /// Checks that the user has a right in the folder that was reached.
  private func require(_ wanted: Permission) throws(PathProblem) {
    try refuseKernelFiles(folder)
    if !user.needsChecks { return }
    let isAllowed: Bool
    do throws(SystemError) {
      isAllowed = try folder.descriptor.allows(user, wanted, folder.status)
    } catch {
      throw PathProblem(error)
    }
    if !isAllowed { throw .denied(user, wanted, folder: folder.place) }
  }
}
