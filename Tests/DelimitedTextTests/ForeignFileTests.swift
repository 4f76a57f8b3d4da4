import DelimitedText
import Foundation
import Testing

@Suite("Files of other origin")
struct ForeignFileTests {
  private static let python = "/usr/bin/python3"
  private static let file = "/usr/share/ieee-data/oui.csv"

  @Test("The registry of network vendors is read as Python's csv module reads it")
  func vendorRegistry() throws {
    for path in [Self.python, Self.file] where !FileManager.default.isReadableFile(atPath: path) {
      print("skipped: \(path) is not installed")
      return
    }
    // A field never has these two separators of ASCII, so the reply needs no quoting.
    let script = """
      import csv, sys
      with open(sys.argv[1], newline='', encoding='utf-8') as f:
        for row in csv.reader(f):
          if row: sys.stdout.buffer.write(('\\x1f'.join(row) + '\\x1e').encode())
      """
    let result = FileManager.default.temporaryDirectory.appending(path: "vendors-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: result) }
    let command = "timeout 60 \(Self.python) -c \"$0\" \"$1\" > \"$2\""
    #expect(runShell(command, script, Self.file, result.path) == 0)
    let expected = try String(decoding: Data(contentsOf: result), as: UTF8.self)
      .utf8.split(separator: 0x1E)
      .map { $0.split(separator: 0x1F, omittingEmptySubsequences: false).map { String(Substring($0)) } }
    let bytes = try [UInt8](Data(contentsOf: URL(filePath: Self.file)))
    let records = readAll(bytes, blockSize: 4096)
    #expect(records.allSatisfy { $0.error == nil })
    #expect(expected.count > 30_000)
    #expect(records.count == expected.count)
    // Only the first difference is shown: the whole file is three megabytes.
    let different = zip(records, expected).first { $0.fields != $1 }
    #expect(different == nil)
    #expect(bytes.withUnsafeBytes(isValidUTF8))
  }

  /// Runs a shell command with arguments `$0`, `$1`... and answers its status.
  private func runShell(_ command: String, _ arguments: String...) -> Int32 {
    var words: [UnsafeMutablePointer<CChar>?] = (["/bin/sh", "-c", command] + arguments).map { strdup($0) } + [nil]
    defer { words.forEach { free($0) } }
    var child: pid_t = 0
    guard posix_spawn(&child, "/bin/sh", nil, nil, &words, environ) == 0 else { return -1 }
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 { guard errno == EINTR else { return -1 } }
    return status
  }
}
