import BobbinDaemon
import Foundation

/// How large a file is.
struct FileMeasure {
  let path: String
  let byteCount: Int64
  let lineCount: Int64

  /// Reads a file with the rights of the job's submitter; nil if that can't be done, which the job's log tells.
  init?(_ path: String, in root: String, for execution: JobExecution) {
    do {
      let file = try execution.openInput(root + "/" + path)
      var (byteCount, lineCount) = (0, 0)
      while let block = try file.read(upToCount: 1 << 20), !block.isEmpty {
        byteCount += block.count
        lineCount += block.count { $0 == UInt8(ascii: "\n") }
      }
      self.path = path
      self.byteCount = Int64(byteCount)
      self.lineCount = Int64(lineCount)
    } catch {
      execution.log("left out: \(error)")
      return nil
    }
  }
}
