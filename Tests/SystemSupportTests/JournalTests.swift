import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

@Suite struct JournalTests {
  /// What a journal on a pipe writes.
  private func lines(_ format: Journal.Format, _ body: (Journal) -> Void) throws -> String {
    try FileDescriptor.pipe().split { reader, writer in
      let journal = Journal(identifier: "bobbind", format: format, output: writer.number)
      body(journal)
      #expect(journal.droppedCount == 0)
      try writer.close()
      return String(decoding: try reader.readAll(limit: 1 << 20), as: UTF8.self)
    }
  }

  @Test("A human reads the program and the message")
  func human() throws {
    let text = try lines(.human) {
      $0.log(.info, #"open "x\n""#, fields: [("JOB_ID", "a\nb"), ("JOB_TYPE", "import")])
      $0.log(.warning, "plain")
    }
    #expect(text == "bobbind: open \"x\\n\"\nbobbind: plain\n")
  }

  @Test("The lines of a service have the local time with its offset, by ISO 8601")
  func timed() throws {
    let before = Date()
    let text = try lines(.timed) { $0.log(.info, "ready") }
    let line = try #require(text.wholeMatch(of: /(\S+T\S+)\.(\d{3})([+-]\d\d:\d\d) bobbind: ready\n/)).output
    let time = try Date("\(line.1)\(line.3)", strategy: .iso8601) + Double(line.2)! / 1000
    #expect(abs(time.timeIntervalSince(before)) < 60)
    #expect(time.timeIntervalSince(before) > -0.001)
  }

  @Test("Each line has its priority when systemd reads the pipe")
  func prefixed() throws {
    let text = try lines(.prefixed) {
      $0.log(.error, "one\n<0>two\u{1b}[31m")
      $0.log(.debug, "three")
    }
    #expect(text == "<3>one\\n<0>two\\x1b[31m\n<7>three\n")
  }

  @Test("A long message is cut to one line that is still UTF-8", arguments: [4082, 4083, 4084, 4085, 4086, 9000])
  func longMessage(length: Int) throws {
    let text = try lines(.human) { $0.log(.info, String(repeating: "x", count: length - 3) + "€€€") }
    #expect(text.hasSuffix("\n"))
    #expect(text.utf8.count <= 4096)
    #expect(text.utf8.count >= min(4096 - 3, length))
    #expect(!text.unicodeScalars.contains("\u{fffd}"))
  }

  @Test("A reader that doesn't read costs messages, which are counted, but never time", .timeLimit(.minutes(10)))
  func fullPipe() throws {
    try FileDescriptor.pipe().split { reader, writer in
      let journal = Journal(identifier: "x", format: .human, output: writer.number)
      for _ in 0..<100 { journal.log(.info, String(repeating: "y", count: 4000)) }
      #expect(journal.droppedCount > 0 && journal.droppedCount < 100)
      // The descriptor is shared with others and must not have become non-blocking.
      #expect(fcntl(writer.number, F_GETFL) & O_NONBLOCK == 0)
      try reader.close()
    }
  }

  @Test("The journal is recognised by device and inode, not by the variable alone")
  func journalStream() throws {
    let file = try FileDescriptor.inMemory(named: "stream")
    let status = try file.status()
    #expect(Journal.isJournal(file.number, stream: "\(status.device):\(status.inode)"))
    #expect(!Journal.isJournal(file.number, stream: "\(status.device):\(status.inode + 1)"))
    #expect(!Journal.isJournal(file.number, stream: nil))
    #expect(!Journal.isJournal(file.number, stream: "rubbish"))
  }
}
