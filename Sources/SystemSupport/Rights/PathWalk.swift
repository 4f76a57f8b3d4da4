import CLinux
import Glibc

extension UserIdentity {
  /// Opens a regular file that this user named, for reading, if the user may reach and read it.
  ///
  /// It neither waits for nor changes a FIFO or device, and the file opened is the one checked, whatever happens to the
  /// path meanwhile.
  package func openFile(_ path: String) throws(PathProblem) -> FileDescriptor {
    let node = try PathWalk(path, for: self).node(at: PathWalk.components(of: Array(path.utf8)))
    guard node.status.kind == .regular else { throw PathProblem("it is no regular file") }
    try refuseKernelFiles(node)
    if needsChecks {
      let isAllowed: Bool
      do throws(SystemError) {
        isAllowed = try node.descriptor.allows(self, .read, status: node.status)
      } catch {
        throw PathProblem(error)
      }
      if !isAllowed {
        throw PathProblem.wall(at: node.place, of: node.place, for: .reading, after: nil)
          ?? .deniedReading(self, file: node.place)
      }
    }
    do throws(SystemError) {
      return try node.descriptor.reopenedForReading()
    } catch {
      // The descriptor's path would mean nothing to the user.
      throw PathProblem.wall(at: node.place, of: node.place, for: .reading, after: error.code)
        ?? PathProblem(SystemError(error.code, call: "open", subject: path))
    }
  }

  /// Finds out what kind of file a path leads to, if this user may reach it.
  package func kindOfFile(_ path: String) throws(PathProblem) -> FileStatus.Kind {
    try PathWalk(path, for: self).node(at: PathWalk.components(of: Array(path.utf8))).status.kind
  }

  /// Opens the file of a Unix socket as a path only, if nobody but certain users can have put it there.
  ///
  /// They own the socket, and each folder and link on the way to it; nobody else may replace one of them.
  package func openSocket(_ path: String, ownedBy owners: Set<UInt32>) throws(PathProblem) -> FileDescriptor {
    let node = try PathWalk(path, for: self, owners: owners).node(at: PathWalk.components(of: Array(path.utf8)))
    guard node.status.kind == .socket else { throw PathProblem("\(displayName(node.place)) is no socket") }
    return node.descriptor
  }

  /// Opens the folder in which this user wants to put a file, if the user may.
  ///
  /// - Returns: The folder, and the file's name in it, which is not looked at.
  package func openFolder(ofOutput path: String) throws(PathProblem) -> (Directory, FileName) {
    var components = PathWalk.components(of: Array(path.utf8))
    guard let name = components.popLast(), name.isSingleComponent else {
      throw PathProblem("the path names a folder, not a file")
    }
    let node = try PathWalk(path, for: self, output: name).folder(at: components, granting: [.write, .search])
    if Sandbox.mayBeOwnFolder(node.place),
      let unseen = Sandbox.ofThisProcess()?.explanation(ofUnseen: node.place)
    {
      throw PathProblem(unseen, isOfHost: true)
    }
    do throws(SystemError) {
      return (Directory(path: node.place, descriptor: try node.descriptor.reopenedAsFolder()), name)
    } catch {
      throw PathProblem.wall(at: node.place, of: node.place + "/" + name.description, for: .writing, after: error.code)
        ?? PathProblem(SystemError(error.code, call: "open", subject: node.place))
    }
  }
}

/// Follows a path for a user other than the one this process runs as, folder by folder, with that user's rights.
///
/// The kernel would follow it with this process's rights, and between a check and an open somebody could exchange what
/// was checked. So every component is opened as a path only and checked on its descriptor, and that very descriptor is
/// used in the end. Symbolic links are read and followed by hand, with the rules of
/// path_resolution(7). In a folder that not only its owner may write to, only links are followed that belong to the user,
/// to the folder's owner or to root: more than `fs.protected_symlinks` in proc(5) asks for, since a group may be made of
/// people who are to be kept apart.
private struct PathWalk: ~Copyable {
  /// As many symbolic links as the kernel follows.
  private static let linkLimit = 40
  /// A component that means the folder itself.
  private static let here = FileName(".")

  private let user: UserIdentity
  private let path: String
  /// The name of the file that is to be written where the path leads; nil for a path that is to be read.
  private let output: FileName?
  /// The users to whom everything on the way has to belong; nil for any.
  private let owners: Set<UInt32>?
  private var folder: PathNode
  /// The components still to go, the next one last.
  private var rest: [FileName] = []
  private var links = 0

  /// Begins at the root of the file system.
  init(
    _ path: String, for user: UserIdentity, output: FileName? = nil, owners: Set<UInt32>? = nil
  ) throws(PathProblem) {
    self.user = user
    self.path = path
    self.output = output
    self.owners = owners
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
    while !rest.isEmpty {
      try require(.search)
      let name = rest.removeLast()
      if name == Self.here { continue }
      let node = try child(name)
      try checkOwner(of: node)
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
      throw wall(at: place(of: name), after: error.code) ?? PathProblem(error)
    }
  }

  /// Checks that none but the owners can have put a node where it is.
  private func checkOwner(of node: borrowing PathNode) throws(PathProblem) {
    guard let owners else { return }
    if !owners.contains(node.status.owner) {
      throw PathProblem(
        "\(displayName(node.place)) belongs to user \(node.status.owner), who is neither root nor the daemon's user")
    }
    // In a sticky folder nobody replaces what belongs to others.
    if folder.status.isWritableByOthers && !folder.status.isSticky {
      throw PathProblem(
        "others than its owner may write to the folder \(displayName(folder.place)), and replace what is in it; take "
          + "that right away (chmod go-w)")
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
      isAllowed = try folder.descriptor.allows(user, wanted, status: folder.status)
    } catch {
      throw PathProblem(error)
    }
    if !isAllowed { throw wall(at: folder.place, after: nil) ?? .denied(user, wanted, folder: folder.place) }
  }

  /// The wall of the sandbox at which the way ended, if it did so at one.
  private func wall(at place: String, after code: SystemError.Code?) -> PathProblem? {
    let way = (rest.reversed() + [output].compactMap { $0 }).map { $0.string ?? $0.description }
    return PathProblem.wall(
      at: place, of: ([place] + way).joined(separator: "/"), for: output == nil ? .reading : .writing, after: code)
  }
}

/// A file or folder that a path leads to, opened as a path only, so that no rename can exchange it any more.
private struct PathNode: ~Copyable {
  let descriptor: FileDescriptor
  let status: FileStatus
  /// The way to it without symbolic links, for messages.
  let place: String

  init(_ descriptor: consuming FileDescriptor, place: String) throws(SystemError) {
    status = try descriptor.status()
    self.descriptor = descriptor
    self.place = place
  }
}

/// Refuses a node whose file the kernel generates.
private func refuseKernelFiles(_ node: borrowing PathNode) throws(PathProblem) {
  let isOne: Bool
  do throws(SystemError) { isOne = try KernelFileSystem.contains(node.descriptor) } catch { throw PathProblem(error) }
  if isOne {
    throw PathProblem(
      "\(displayName(node.place)) is the kernel's, and shows each process something else; copy it to a file")
  }
}
