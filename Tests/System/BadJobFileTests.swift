import DaemonTesting
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("A bad job file is kept with its reason, and harms nothing")
  struct BadJobFiles {
    @Test("A file that can't be read as jobs is refused, naming line and key", arguments: BadJobFile.all)
    func refused(file: BadJobFile) async throws {
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root)
      try root.drop(file.data, as: "bad.json")
      try await daemon.expectOnlyGood(kept: "bad.json", reason: file.reason)
      #expect(try Data(contentsOf: URL(filePath: root.paths.spoolFailed + "/bad.json")) == file.data)
    }

    /// Things in `new/` that are no job files, and why each is refused.
    enum Thing: String, CaseIterable {
      case symbolicLink, danglingLink, fifo, folder, socket, hardLink, unreadable

      var reason: String {
        switch self {
        case .hardLink: "it has 2 hard links; a job file must have one"
        case .unreadable: "it can't be read: EACCES; give its group the right (chmod g+r) before you drop it"
        default: "it is no regular file"
        }
      }

      func make(at path: String, _ root: DaemonRoot) throws {
        let other = root.directory.path("other.json")
        try root.write(#"{"type": "noop", "id": "other"}"#, to: other)
        switch self {
        case .symbolicLink: try #require(symlink(other, path) == 0)
        case .danglingLink: try #require(symlink(root.directory.path("nothing"), path) == 0)
        case .fifo: try #require(mkfifo(path, 0o666) == 0)
        case .folder: try #require(mkdir(path, 0o777) == 0)
        case .socket: try #require(mknod(path, S_IFSOCK | 0o666, 0) == 0)
        case .hardLink: try #require(link(other, path) == 0)
        case .unreadable:
          try root.write("{}", to: path)
          try #require(chmod(path, 0) == 0)
        }
      }
    }

    @Test(
      "What is no job file is refused without blocking, whether it is moved there or made there",
      arguments: Thing.allCases, [true, false])
    func things(thing: Thing, isRenamed: Bool) async throws {
      // A file that is made there is read as soon as it is closed, before it can become unreadable.
      if thing == .unreadable && !isRenamed { return }
      let root = try DaemonRoot()
      // Root may read everything, so there the daemon runs as another user.
      let isRoot = Credentials.effectiveUser == 0
      if thing == .unreadable && isRoot {
        let owner = try await Tool.run("/usr/bin/chown", ["-R", "nobody:nogroup", root.directory.path])
        try #require(owner.code == 0, "\(owner.errors)")
      }
      let wrapper =
        thing == .unreadable && isRoot ? ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []
      let daemon = try await DaemonProcess.ready(root, wrapper: wrapper)
      if isRenamed {
        try thing.make(at: root.paths.spoolTemporary + "/thing", root)
        try #require(rename(root.paths.spoolTemporary + "/thing", root.paths.spoolNew + "/thing.json") == 0)
      } else {
        try thing.make(at: root.paths.spoolNew + "/thing.json", root)
      }
      try await daemon.expectOnlyGood(kept: "thing.json", reason: thing.reason)
    }

    @Test("A foreign folder in new/ that can't be moved away keeps no job file from being taken")
    func foreignFolder() async throws {
      guard Credentials.effectiveUser == 0 else { return }
      let root = try DaemonRoot()
      let owner = try await Tool.run("/usr/bin/chown", ["-R", "nobody:nogroup", root.directory.path])
      try #require(owner.code == 0, "\(owner.errors)")
      // Moving a folder to another one needs the right to write to it; its name comes first in the scan at the start.
      try #require(mkdir(root.paths.spoolNew + "/0", 0o755) == 0)
      try root.drop(#"{"type": "noop", "id": "good"}"#, as: "good.json")
      let identity = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
      let daemon = try await DaemonProcess.ready(root, wrapper: identity)
      try await daemon.wait { try $0.root.newFiles == ["0"] && $0.root.currentFiles.isEmpty }
      #expect(try await root.sql("SELECT id, state FROM Job") == "good|completed")
      #expect(try await daemon.stop() == .exited(code: 0))
    }
  }
}
