import Foundation
import SystemSupport

extension Examination {
  /// Examines rights by which others could do harm, and folders between which files can't be renamed.
  mutating func examineFolders() throws {
    let state = (store as NSString).deletingLastPathComponent
    var owners: [UInt32: String] = [:]
    var devices: [UInt64: String] = [:]
    for (path, isDropBox) in [
      (state, false), (spool + "/cur", false), (spool + "/failed", false), (spool + "/new", true),
      (spool + "/tmp", true), (spool + "/payload", true),
    ] {
      guard let status = try open(path)?.status() else { continue }
      let mode = "0" + String(status.mode, radix: 8)
      if isDropBox {
        if status.mode & 0o022 != 0 && status.mode & 0o1000 == 0 {
          report.find(
            "permissions", path, "with mode \(mode) users can rename and remove each other's files",
            action: "chmod +t \(path)")
        }
      } else if status.mode & 0o022 != 0 {
        report.find(
          "permissions", path, "with mode \(mode) others than the daemon can put files there",
          action: "chmod go-w \(path)")
      }
      if path != state { devices[status.device] = path }
      if !isDropBox { owners[status.owner] = path }
    }
    if devices.count > 1 {
      report.find(
        "file-systems", spool,
        "its folders are on several file systems (\(devices.values.sorted().joined(separator: ", "))), so that files can't be renamed from one to the other",
        action: "put all of them on one")
    }
    if owners.count > 1 {
      report.find(
        "owners", spool,
        "the daemon's folders have different owners (\(owners.values.sorted().joined(separator: ", ")))",
        action: "chown them to the user that bobbind runs as")
    }
  }
}
