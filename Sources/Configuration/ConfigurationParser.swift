import FoundationEssentials
import Glibc
import TextSupport

extension Configuration {
  /// Reads the main file, then the drop-ins, and then those of notifiers; later assignments win over earlier ones.
  ///
  /// - Parameters:
  ///   - paths: The folders of the installed service, or of a private root.
  ///   - mainFile: Another file to read as `bobbin.conf`; what is missing, file or folder, has no settings.
  ///   - user: The daemon's user, whose files are used beside those of root.
  /// - Throws: ``ConfigurationError`` with all problems in all files.
  package static func load(
    _ paths: Paths, mainFile: String? = nil, ofUser user: UInt32 = geteuid()
  ) throws(ConfigurationError) -> Configuration {
    var parser = ConfigurationParser(user: user)
    parser.read([mainFile ?? paths.configurationFile])
    parser.readFolder(paths.configurationDropIns)
    parser.readFolder(paths.notifiers, isOfNotifiers: true)
    return try parser.result()
  }

  /// The configuration that a text describes.
  ///
  /// - Parameters:
  ///   - text: The content of a configuration file.
  ///   - file: The name that errors give.
  /// - Throws: ``ConfigurationError`` with all problems in the text.
  package static func parse(_ text: String, file: String = "bobbin.conf") throws(ConfigurationError) -> Configuration {
    var parser = ConfigurationParser()
    parser.parse(Array(text.utf8), file: file)
    return try parser.result()
  }
}

/// Applies files one after the other to the defaults, and collects the problems in them.
struct ConfigurationParser {
  private let user: UInt32
  private var configuration = Configuration()
  var problems: [ConfigurationProblem] = []

  /// - Parameter user: The daemon's user.
  init(user: UInt32 = geteuid()) { self.user = user }

  func result() throws(ConfigurationError) -> Configuration {
    guard problems.isEmpty else { throw ConfigurationError(problems: problems) }
    return configuration
  }

  /// Reads the `*.conf` files of a folder.
  ///
  /// - Parameter isOfNotifiers: True if each has a section `[Notify]`, to which the file gives its name.
  mutating func readFolder(_ folder: String, isOfNotifiers: Bool = false) {
    do { read(try ConfigurationFile.dropIns(in: folder, ofUser: user), isOfNotifiers: isOfNotifiers) } catch {
      problems.append(error)
    }
  }

  mutating func read(_ files: [String], isOfNotifiers: Bool = false) {
    for file in files {
      do {
        guard let text = try ConfigurationFile.contents(of: file, ofUser: user) else { continue }
        parse(text, file: file, notifier: isOfNotifiers ? ConfigurationFile.name(of: file) : nil)
      } catch {
        problems.append(error)
      }
    }
  }

  /// - Parameter notifier: The name of the section `[Notify]`, if the file is to have no other.
  mutating func parse(_ text: [UInt8], file: String, notifier: String? = nil) {
    if let notifier { configuration.sectionPlaces["Notify \(notifier)"] = SectionPlace(file: file, line: 1) }
    for entry in IniReader.entries(of: text) {
      var problem: ConfigurationProblem?
      switch notifier.map({ entry.content.naming("Notify", $0) }) ?? entry.content {
      case .section(let name):
        if Setting.settings(of: name) == nil { problem = unknownSection(name, file, isOfNotifier: notifier != nil) }
        if Self.placedKinds.contains(where: { name.hasPrefix($0 + " ") }) {
          configuration.sectionPlaces[name] = SectionPlace(file: file, line: entry.line)
        }
      case .malformed(.unknownSection, let name):
        problem = unknownSection(name, file, isOfNotifier: notifier != nil)
      case .malformed(let code, let text):
        problem = ConfigurationProblem(code: code, file: file, message: Self.message(for: code, text: text))
      case .assignment(let section, let key, let value):
        problem = assign(section: section, key: key, value: value, file: file)
      }
      if var problem {
        problem.line = entry.line
        problems.append(problem)
      }
    }
  }

  /// The kinds of sections whose places are kept.
  private static let placedKinds = ["ImagePreset", "Notify"]

  private mutating func assign(
    section: String, key: String, value: String, file: String
  ) -> ConfigurationProblem? {
    guard !section.isEmpty else {
      let nearest = NearestName.find(key, in: Setting.all.map(\.key), within: .max)
      let owner = Setting.all.first { $0.key == nearest }?.section ?? ""
      return ConfigurationProblem(
        code: .keyOutsideSection, file: file, key: key, value: value,
        message: "stands before any section; put a line such as [\(owner)] above it")
    }
    // Of an unknown section its own line is reported, not every key.
    guard let settings = Setting.settings(of: section) else { return nil }
    guard let setting = settings.first(where: { $0.key == key }) else {
      return ConfigurationProblem(
        code: .unknownKey, file: file, section: section, key: key, value: value,
        message: "unknown key; \(Self.suggestion(for: key, among: settings))")
    }
    // As in systemd, an empty assignment resets earlier ones.
    if value.isEmpty {
      setting.copy(Configuration(), &configuration)
    } else if !setting.assign(value, &configuration) {
      return ConfigurationProblem(
        code: .invalidValue, file: file, section: section, key: key, value: value,
        message: "expected \(setting.allowed)")
    }
    return nil
  }

  private func unknownSection(_ name: String, _ file: String, isOfNotifier: Bool) -> ConfigurationProblem {
    if isOfNotifier {
      return ConfigurationProblem(
        code: .unknownSection, file: file, section: name,
        message:
          "unknown section; a file in notify.d has the section [Notify], to which it gives its name of at most 100 bytes"
      )
    }
    let nearest = NearestName.find(name, in: Setting.sections, within: .max) ?? ""
    let named = Setting.namedSections.map { "\($0) NAME" }
    return ConfigurationProblem(
      code: .unknownSection, file: file, section: name,
      message: "unknown section; did you mean [\(nearest)]? "
        + "There are \((Setting.sections + named).joined(separator: ", "))")
  }

  private static func suggestion(for key: String, among settings: [Setting]) -> String {
    if let elsewhere = Setting.all.first(where: { $0.key == key }) {
      return "\(key) belongs to [\(elsewhere.section)]"
    }
    let keys = settings.map(\.key)
    let nearest = NearestName.find(key, in: keys, within: .max) ?? ""
    return "did you mean \(nearest)?"
  }

  static func message(for code: ConfigurationProblem.Code, text: String) -> String {
    switch code {
    case .invalidText: "not UTF-8 text, or it has control characters; save the file as plain UTF-8"
    case .lineTooLong: "the line is longer than \(text) bytes; shorten it"
    case .inlineComment: "a comment after a value in '\(text)'; put comments on lines of their own"
    case .malformedSection: "'\(text)' is not a section; expected a name in brackets, such as [Writer]"
    default: "'\(text)' is not an assignment; expected Key=Value"
    }
  }
}

/// Finds and reads configuration files, with a limit on their size.
enum ConfigurationFile {
  /// Larger than any sensible file, and small enough to be read at once.
  static let maxSize = 1 << 20

  /// The bytes of the file, or nil if there is no file of this name.
  ///
  /// - Parameter user: The daemon's user.
  static func contents(of path: String, ofUser user: UInt32 = geteuid()) throws(ConfigurationProblem) -> [UInt8]? {
    // O_NONBLOCK: opening a FIFO must not wait for a writer.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw unreadable(path, errno)
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw unreadable(path, errno) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw unreadable(path, reason: "it is not a regular file") }
    try checkTrust(in: path, status, user)
    let bytes = try read(descriptor, path)
    guard bytes.count <= maxSize else { throw unreadable(path, reason: "it is larger than \(maxSize >> 20) MiB") }
    return bytes
  }

  /// The name of what a file defines, which is that of the file without its ending.
  static func name(of file: String) -> String {
    let last = file[(file.lastIndex(of: "/").map(file.index(after:)) ?? file.startIndex)...]
    return String(last.hasSuffix(".conf") ? last.dropLast(5) : last)
  }

  /// The paths of the `*.conf` files in a folder in lexical order of their bytes; none if there is no such folder.
  static func dropIns(
    in folder: String, ofUser user: UInt32 = geteuid()
  ) throws(ConfigurationProblem) -> [String] {
    var status = stat()
    guard stat(folder, &status) == 0 else {
      if errno == ENOENT { return [] }
      throw unreadable(folder, errno)
    }
    try checkTrust(in: folder, status, user)
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: folder)
    } catch {
      throw unreadable(folder, reason: "the folder can't be listed; check that it is one, and its permissions")
    }
    return names.filter { $0.hasSuffix(".conf") && !$0.hasPrefix(".") }
      .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      .map { "\(folder)/\($0)" }
  }

  /// Checks that nobody but root and the daemon's user decides what is in a file or folder: programs that it names run with
  /// the daemon's rights. That members of its group may write is an administrator's decision.
  private static func checkTrust(
    in path: String, _ status: stat, _ user: UInt32
  ) throws(ConfigurationProblem) {
    try checkOwner(of: path, status, user)
    guard status.st_mode & S_IWOTH == 0 else {
      throw ConfigurationProblem(
        code: .unreadableFile, file: path, message: "is not used: every user may write to it; try chmod o-w")
    }
  }

  fileprivate static func checkOwner(
    of path: String, _ status: stat, _ user: UInt32
  ) throws(ConfigurationProblem) {
    if status.st_uid == 0 || status.st_uid == user { return }
    throw ConfigurationProblem(
      code: .unreadableFile, file: path,
      message: "is not used: it belongs to user \(status.st_uid), not to root or the daemon's user")
  }

  /// Reads up to one byte more than the limit, so that a file that grows meanwhile is noticed too.
  private static func read(_ descriptor: CInt, _ path: String) throws(ConfigurationProblem) -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while bytes.count <= maxSize {
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw unreadable(path, errno) }
      guard count > 0 else { break }
      bytes += chunk[..<count]
    }
    return bytes
  }

  private static func unreadable(_ path: String, _ code: CInt) -> ConfigurationProblem {
    unreadable(path, reason: strerror(code).map { String(cString: $0) } ?? "error \(code)")
  }

  private static func unreadable(_ path: String, reason: String) -> ConfigurationProblem {
    ConfigurationProblem(code: .unreadableFile, file: path, message: "can't be read: \(reason)")
  }
}

extension Paths {
  /// The user of the daemon that has its state here; one's own if there is none.
  package var owner: UInt32 {
    var status = stat()
    return stat(state, &status) == 0 ? status.st_uid : geteuid()
  }

  /// Checks that the folders that a daemon trusts, as far as they exist, are those of root or of its user: whoever owns one of
  /// them could put programs, and jobs in the names of others, where the daemon finds them.
  package func checkOwners(ofRoot root: String) throws(ConfigurationError) {
    for path in [root, configuration, state, spool] {
      var status = stat()
      // What can't be looked at is told when it is opened.
      guard stat(path, &status) == 0 else { continue }
      do { try ConfigurationFile.checkOwner(of: path, status, geteuid()) } catch {
        throw ConfigurationError(problems: [error])
      }
    }
  }
}
