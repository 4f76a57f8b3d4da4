import BobbinDaemon
import Foundation

/// Finds the files of a folder.
enum FolderWalk {
  /// The paths of all regular files below a folder, relative to it and sorted.
  static func files(under root: String, checking execution: JobExecution) throws -> [String] {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: root, isDirectory: &isFolder), isFolder.boolValue,
      let walk = FileManager.default.enumerator(atPath: root)
    else {
      // No attempt will find one, unless somebody makes it and runs the job again.
      throw JobFailure("\(root) is no folder that can be read; make it, then `bobbinctl retry \(execution.jobID)`")
    }
    var files: [String] = []
    while let path = walk.nextObject() as? String {
      if walk.fileAttributes?[.type] as? FileAttributeType == .typeRegular { files.append(path) }
      if files.count.isMultiple(of: 1_000) { try execution.checkCancellation() }
    }
    return files.sorted()
  }
}
