import Foundation
import Testing

@testable import Configuration

@Suite("Loading a configuration")
struct ConfigurationLoadingTests {
  @Test("Without any file, all settings have their defaults")
  func missingFiles() throws {
    let loaded = try Configuration.load(Paths(root: "/nonexistent"))
    #expect(loaded == Configuration())
    #expect(loaded.writer.flushInterval == .milliseconds(250))
    #expect(loaded.workers.count == ProcessInfo.processInfo.activeProcessorCount + 1)
  }

  @Test("Drop-ins are read after the main file in lexical order, and the last assignment wins")
  func dropInOrder() throws {
    let folder = try TemporaryFolder()
    let paths = Paths(root: folder.path)
    try folder.write("[Jobs]\nMaxAttempts=1\n[Workers]\nCount=1\n[Image]\nHelpers=9\n", to: "etc/bobbin.conf")
    try folder.write("[Workers]\nCount=3\n", to: "etc/bobbin.conf.d/9-last.conf")
    try folder.write("[Workers]\nCount=2\n[Jobs]\nMaxAttempts=7\n", to: "etc/bobbin.conf.d/10-first.conf")
    try folder.write("[Workers]\nCount=100\n", to: "etc/bobbin.conf.d/99-other.conf.bak")
    try folder.write("[Workers]\nCount=101\n", to: "etc/bobbin.conf.d/.99-hidden.conf")
    let loaded = try Configuration.load(paths)
    #expect(loaded.workers.count == 3)
    #expect(loaded.jobs.maxAttempts == 7)
    #expect(loaded.image.helpers == 9)
  }

  @Test("A file in notify.d is the section of its name, and has no other; one without a type is told")
  func notifierFiles() throws {
    let folder = try TemporaryFolder()
    let paths = Paths(root: folder.path)
    try folder.write("[Notify mail]\nType=a\nLimit=3\n", to: "etc/bobbin.conf")
    try folder.write("[Notify]\nType=b\nOn=batch\n", to: "etc/notify.d/mail.conf")
    let chat = try folder.write("# nothing yet\n", to: "etc/notify.d/chat room.conf")
    let loaded = try Configuration.load(paths)
    #expect(Set(loaded.notifiers.keys) == ["mail"])
    let mail = loaded[notifier: "mail"]
    #expect(mail.type == "b" && mail.kinds == [.batch] && mail.limit == 3)
    let problems = loaded.notifierProblems(types: ["b"])
    #expect(problems.map { "\($0)" }.first?.hasPrefix("\(chat):1: [Notify chat room]: needs Type=, ") == true)
    #expect(problems.count == 1)
    let wrong = try folder.write("[Notify mail]\nType=b\n[Notify]\nTipe=b\n[Jobs]\n", to: "etc/notify.d/mail.conf")
    let error = #expect(throws: ConfigurationError.self) { try Configuration.load(paths) }
    #expect(
      error?.problems.map { "\($0.code.rawValue) \($0.file):\($0.line ?? 0)" } == [
        "unknown-section \(wrong):1", "unknown-key \(wrong):4", "unknown-section \(wrong):5",
      ])
  }

  @Test("The sample of a notifier has every key, and those that are commented out have their defaults")
  func notifierSample() throws {
    let url = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../etc/notify.d/notify.conf.sample")
    let text = try String(contentsOf: url.standardized, encoding: .utf8)
    let full = text.split(separator: "\n").map { $0.contains(/^#[A-Z]/) ? $0.dropFirst() : $0 }
    let keys = full.compactMap { $0.firstMatch(of: /^([A-Z][A-Za-z]+)=/).map { String($0.1) } }
    #expect(keys.sorted() == Setting.settings(of: "Notify x")?.map(\.key).sorted())
    let folder = try TemporaryFolder()
    try folder.write(text, to: "etc/notify.d/plain.conf")
    try folder.write(full.joined(separator: "\n"), to: "etc/notify.d/full.conf")
    let loaded = try Configuration.load(Paths(root: folder.path))
    #expect(loaded[notifier: "full"] == loaded[notifier: "plain"])
    #expect(loaded[notifier: "full"].type == "notice.mail")
  }

  @Test("An empty assignment gives the default back")
  func emptyAssignment() throws {
    let loaded = try Configuration.parse("[Jobs]\nMaxAttempts=9\n[Log]\nLevel=debug\n[Jobs]\nMaxAttempts=\n")
    #expect(loaded.jobs.maxAttempts == 20)
    #expect(loaded.log.level == .debug)
  }

  @Test(
    "Byte order mark, CRLF, indentation, comments, blanks and repeated sections change nothing",
    arguments: [
      "[Workers]\nCount=5\n[Jobs]\nMaxAttempts=6\n",
      "\u{FEFF}[Workers]\nCount=5\n[Jobs]\nMaxAttempts=6",
      "[Workers]\r\nCount=5\r\n\r\n[Jobs]\r\nMaxAttempts=6\r\n",
      "  [Workers]  \n\tCount \t=  5 \n  # note ; more\n  [Jobs]\n  MaxAttempts = 6\n",
      "[Jobs]\n[Workers]\nCount=5\n[Jobs]\nMaxAttempts=6\n; note\n",
      "# \(String(repeating: "long ", count: 300))\n[Workers]\nCount=4\nCount=5\n[Jobs]\nMaxAttempts=6\n",
    ])
  func tolerates(_ text: String) throws {
    let loaded = try Configuration.parse(text)
    #expect(loaded.workers.count == 5)
    #expect(loaded.jobs.maxAttempts == 6)
  }

  @Test("What is described is read again as the same configuration, with every key")
  func describes() throws {
    let text = """
      [Workers]
      Count=7
      [Writer]
      FlushIntervalSec=1min 1s 5ms
      HighWaterBytes=65537
      [Status]
      ReadAccess=owner
      """
    let configuration = try Configuration.parse(text)
    let described = configuration.describe()
    #expect(try Configuration.parse(described) == configuration)
    #expect(
      described.contains("[Writer]\nFlushIntervalSec=1min 1s 5ms\nHighWaterObjects=50000\nHighWaterBytes=65537\n"))
    #expect(described.split(separator: "\n").count { $0.contains("=") } == Setting.all.count)
  }

  @Test("Defaults lie within what is allowed")
  func defaultsAreAllowed() throws {
    #expect(try Configuration.parse(Configuration().describe()) == Configuration())
  }

  @Test("Every key is listed once, and sections are not torn apart")
  func settingsAreDistinct() {
    #expect(Set(Setting.all.map { "\($0.section).\($0.key)" }).count == Setting.all.count)
    #expect(Set(Setting.sections).count == Setting.sections.count)
  }

  @Test("The commented sample holds every key, in order, with its default")
  func sample() throws {
    let url = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../etc/bobbin.conf").standardized
    let lines = try String(contentsOf: url, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
    #expect(try Configuration.parse(lines.joined(separator: "\n")) == Configuration())

    let uncommented = lines.map { $0.hasPrefix("#") && !$0.hasPrefix("# ") && $0 != "#" ? $0.dropFirst() : $0 }
    let text = uncommented.joined(separator: "\n")
    #expect(try Configuration.parse(text) == Configuration())
    var section = ""
    var keys: [String] = []
    for line in uncommented where !line.hasPrefix("#") {
      if line.hasPrefix("[") { section = String(line) }
      if let equals = line.firstIndex(of: "=") { keys.append("\(section)\(line[..<equals])") }
    }
    #expect(keys == Setting.all.map { "[\($0.section)]\($0.key)" })

    // The ranges and the reload behaviour are told in prose; hold them to the table as well.
    for setting in Setting.all {
      let section = try #require(uncommented.firstIndex { $0 == "[\(setting.section)]" })
      let index = try #require(uncommented[section...].firstIndex { $0.hasPrefix(setting.key + "=") })
      let comment = uncommented[..<index].reversed().prefix { $0.hasPrefix("# ") }.joined(separator: " ")
      #expect(comment.contains("(restart)") == (setting.effect == .onRestart), "\(setting.key)")
      if let range = setting.allowed.firstRange(of: "from ") {
        let words = setting.allowed[range.upperBound...].prefix { $0 != "," }
        #expect(comment.contains("From \(words)."), "\(setting.key): \(words)")
      }
    }
  }
}
