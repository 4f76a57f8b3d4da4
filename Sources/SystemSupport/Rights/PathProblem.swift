/// The reason why a user can't use a path: what is in the way, where, and what to do.
package struct PathProblem: Error, Sendable, Hashable, CustomStringConvertible {
  /// The message, safe to print.
  package let description: String
  /// True if another attempt would most likely fail in the same way.
  package let isLasting: Bool
  /// True if it is a fault of this host and not of the path: the disk is full or read-only, or a wall of the daemon's sandbox
  /// is in the way.
  package let isOfHost: Bool

  package init(_ description: String, isLasting: Bool = true, isOfHost: Bool = false) {
    self.description = description
    self.isLasting = isLasting
    self.isOfHost = isOfHost
  }

  /// A system call that failed. Where the kernel refused although the user has the right, this process lacks it.
  package init(_ error: SystemError) {
    guard error.code == .accessDenied || error.code == .notPermitted else {
      self.init(
        error.description, isLasting: error.isLasting,
        isOfHost: error.isFullDisk || error.code == .readOnlyFileSystem)
      return
    }
    let process = (try? UserIdentity.ofThisProcess().description) ?? "user \(Credentials.effectiveUser)"
    self.init(
      "\(error.hinting("the daemon runs as \(process), who needs the right too: give it by chmod, setfacl or a common group, or use a file in the spool's payload/"))"
    )
  }

  /// A system call that failed to write in a folder.
  ///
  /// - Parameters:
  ///   - folder: the folder's path without links.
  ///   - path: the file that was to be written.
  package init(_ error: SystemError, writing path: String, in folder: String) {
    self = Self.wall(at: folder, of: path, for: .writing, after: error.code) ?? PathProblem(error)
  }

  /// The wall of the daemon's sandbox that keeps it from a path, if one does; else the kernel's reason or a user's rights
  /// are the reason.
  static func wall(
    at place: String, of path: String, for use: Sandbox.Use, after code: SystemError.Code?
  ) -> PathProblem? {
    Sandbox.ofThisProcess()?.explanation(at: place, of: path, for: use, after: code).map {
      PathProblem($0, isOfHost: true)
    }
  }

  /// A right that a user lacks.
  static func denied(_ user: UserIdentity, _ wanted: Permission, folder: String) -> PathProblem {
    let act = wanted.contains(.write) ? "write to" : "search"
    return PathProblem(
      "\(user) may not \(act) the folder \(displayName(folder)); \(cure(user, wanted)), or use a file in the spool's payload/"
    )
  }

  static func deniedReading(_ user: UserIdentity, file: String) -> PathProblem {
    PathProblem(
      "\(user) may not read the file \(displayName(file)); \(cure(user, .read)), or copy the file into the spool's payload/"
    )
  }

  private static func cure(_ user: UserIdentity, _ wanted: Permission) -> String {
    "give the right to a common group (chgrp, chmod g+\(wanted.letters)) or to the user "
      + "(setfacl -m u:\(user.name ?? String(user.user)):\(wanted.letters))"
  }
}
