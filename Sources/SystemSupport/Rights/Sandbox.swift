import Glibc

/// The walls that the settings of a service put around this process: what is hidden from it, and what it can't change.
package struct Sandbox: Sendable {
  /// The use that a path is wanted for.
  package enum Use: Sendable {
    case reading, writing
    /// The daemon writes a file of its own there.
    case keeping
  }

  private let mounts: MountTable
  /// The unit that runs this process, whose settings are to be named; nil if no service manager does.
  private let unit: String?

  package init(mounts: MountTable, unit: String?) {
    self.mounts = mounts
    self.unit = unit
  }

  /// The walls around this process as they are at this moment; nil if the kernel does not tell.
  ///
  /// Costs some system calls.
  package static func ofThisProcess() -> Sandbox? {
    guard let mounts = try? MountTable.ofThisProcess() else { return nil }
    // Set by systemd for all that it runs; see systemd.exec(5).
    return Sandbox(mounts: mounts, unit: getenv("INVOCATION_ID") == nil ? nil : ownUnit ?? "bobbind.service")
  }

  /// The service in whose control group this process is.
  private static var ownUnit: String? {
    guard let file = try? FileDescriptor.open("/proc/self/cgroup"), let bytes = try? file.readAll(limit: 1 << 16) else {
      return nil
    }
    let names = String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap {
      $0.split(separator: "/").last
    }
    return names.first { $0.hasSuffix(".service") }.map(String.init)
  }

  /// Explains which wall keeps this process from a path, and how it is opened; nil if none does.
  ///
  /// - Parameters:
  ///   - place: where the way to the path ended, without links.
  ///   - path: the file that is meant, at that place or below it.
  ///   - use: what it is wanted for.
  ///   - code: the kernel's reason; nil if somebody's rights seemed to be the reason.
  package func explanation(
    at place: String, of path: String, for use: Use, after code: SystemError.Code?
  ) -> String? {
    guard let mount = mounts.mount(of: place) else { return nil }
    switch Wall(mount) {
    case .mask: return mask(mount, path, for: use)
    case .empty where code == .noEntry: return mask(mount, path, for: use)
    case .ownFolder where code == .noEntry: return ownFolder(mount, path, for: use)
    case .lock where use != .reading && code == .readOnlyFileSystem: return lock(mount, path, for: use)
    default: return nil
    }
  }

  /// Explains why nobody else would see a file that is made at a path; nil if others see it.
  package func explanation(ofUnseen path: String, for use: Use = .writing) -> String? {
    guard let mount = mounts.mount(of: path), Wall(mount) == .ownFolder else { return nil }
    return ownFolder(mount, path, for: use)
  }

  /// The reason why the daemon can't write a file of its own: the wall that is in the way, or else the kernel's.
  package static func reason(of error: SystemError, keeping path: String) -> String {
    ofThisProcess()?.explanation(at: path, of: path, for: .keeping, after: error.code) ?? error.description
  }

  /// True if a unit may have a folder of its own at a place; at others the mounts need not be looked at.
  package static func mayBeOwnFolder(_ place: String) -> Bool {
    ["/tmp", "/var/tmp"].contains { place == $0 || place.hasPrefix($0 + "/") }
  }

  // MARK: Words

  private func mask(_ mount: MountTable.Mount, _ path: String, for use: Use) -> String {
    let point = displayName(mount.point)
    guard let unit else {
      return "a mount at \(point) hides it from the daemon"
        + (use == .keeping ? "" : "; use a file in the spool's payload/")
    }
    guard mount.isHome else {
      let setting = Wall(mount) == .mask ? "InaccessiblePaths=" : "TemporaryFileSystem="
      return "\(setting) of \(unit) hides \(point) from the daemon; \(alternative(for: use))"
        + "leave \(point) out there (\"systemctl cat \(unit)\" shows where it is set)"
    }
    let binding = use == .reading ? "BindReadOnlyPaths=" : "BindPaths="
    return "ProtectHome= of \(unit) hides \(point) from the daemon; \(alternative(for: use))"
      + cure(unit, ["ProtectHome=tmpfs", binding + Self.value(folder(of: path, in: mount))])
  }

  /// The words for another way than to open a path; none for files of the daemon's own.
  private func alternative(_ act: String = "use a file in", for use: Use) -> String {
    use == .keeping ? "" : "\(act) the spool's payload/, or "
  }

  private func ownFolder(_ mount: MountTable.Mount, _ path: String, for use: Use) -> String {
    let unit = unit ?? "the service"
    return "PrivateTmp= of \(unit) gives the daemon a folder \(mount.point) of its own, which nobody else sees; "
      + alternative(for: use) + cure(unit, ["PrivateTmp=no"])
  }

  private func lock(_ mount: MountTable.Mount, _ path: String, for use: Use) -> String {
    let point = displayName(mount.point)
    guard let unit else { return "the mount at \(point) is read-only for the daemon, though not for others" }
    // A folder that was let in from behind a mask.
    if mount.isBelowHome {
      return "BindReadOnlyPaths= of \(unit) makes \(point) read-only for the daemon; "
        + "\(alternative("write to", for: use))use BindPaths= there (\"systemctl cat \(unit)\" shows where it is set)"
    }
    let setting = mount.isHome ? "ProtectHome=" : mount.isOfSystem ? "ProtectSystem=" : "ReadOnlyPaths="
    let place = mount.point == "/" ? "all but a few folders" : point
    return "\(setting) of \(unit) makes \(place) read-only for the daemon; \(alternative("write to", for: use))"
      + cure(unit, ["ReadWritePaths=" + Self.value(folder(of: path, in: mount))])
  }

  /// Names the drop-in that opens a path.
  private func cure(_ unit: String, _ settings: [String]) -> String {
    "open it: \"systemctl edit \(unit)\" with the lines [Service], \(settings.joined(separator: ", ")), "
      + "then \"systemctl restart \(unit)\"; see SANDBOX in bobbind(8)"
  }

  /// The folder of a file; the file itself if the folder is the one that is closed.
  private func folder(of path: String, in mount: MountTable.Mount) -> String {
    let folder = "/" + path.split(separator: "/").dropLast().joined(separator: "/")
    return folder == mount.point ? path : folder
  }

  /// A path as a unit's settings have it; see systemd.syntax(7).
  private static func value(_ path: String) -> String {
    let escaped = path.reduce(into: "") { text, character in
      switch character {
      case "%": text += "%%"
      case "\\", "\"", ":": text += "\\\(character)"
      default: text.append(character)
      }
    }
    return singleLine(escaped.contains(" ") ? "\"\(escaped)\"" : escaped)
  }
}

/// A kind of wall, told from how systemd mounts it.
private enum Wall {
  /// A folder or file without rights and content lies upon it.
  case mask
  /// An empty folder lies upon it.
  case empty
  /// Another folder lies upon it, which is the unit's own.
  case ownFolder
  /// It is the same folder, made read-only.
  case lock

  /// Makes the kind of a mount; nil if it is no wall.
  init?(_ mount: MountTable.Mount) {
    if mount.root.contains("/inaccessible/") {
      self = .mask
    } else if mount.root.contains("/systemd-private-") {
      self = .ownFolder
    } else if mount.fileSystem == "tmpfs", mount.root == "/", mount.isHome || mount.isReadOnly {
      self = .empty
    } else if mount.isReadOnly, !mount.isFileSystemReadOnly {
      self = .lock
    } else {
      return nil
    }
  }
}

extension MountTable.Mount {
  /// The folders that `ProtectHome=` is about.
  private static let homes = ["/home", "/root", "/run/user"]
  /// Those that `ProtectSystem=` is about, if not everything.
  private static let system = ["/", "/usr", "/boot", "/efi", "/etc"]

  fileprivate var isHome: Bool { Self.homes.contains(point) }
  fileprivate var isBelowHome: Bool { Self.homes.contains { point.hasPrefix($0 + "/") } }
  fileprivate var isOfSystem: Bool { Self.system.contains(point) }
}
