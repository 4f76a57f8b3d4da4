import Foundation
import Jobs
import ObjectGraph
import SystemSupport

/// A job file as it was read, once, when it was claimed; later writes by its submitter change nothing.
struct ClaimedFile: Sendable {
  let name: FileName
  let data: Data
  /// The user who owns the file, or who submitted it over the socket.
  let submitter: UInt32
  /// A hash of name, inode, times and size, so that a file which a power cut brings back is the same, and a new file of
  /// an old name is another, even a copy with the old file's modification time: an inode's number is soon used again.
  private let hash: UInt64
  /// The firing of a schedule, or the client's key, whose jobs it has; its ID is the same on each host, and whenever it is
  /// submitted.
  private let firing: String?

  /// A file with one job on each line, which is read from its copy; nil if that does not tell its identity.
  init?(name: FileName, submitter: UInt32, identity: String) {
    guard let hash = UInt64(identity, radix: 16) else { return nil }
    self.name = name
    data = Data()
    self.submitter = submitter
    self.hash = hash
    firing = nil
  }

  /// A file that has no place in the spool yet.
  init(name: FileName, data: Data, submitter: UInt32) {
    self.name = name
    self.data = data
    self.submitter = submitter
    hash = 0
    firing = nil
  }

  init(name: FileName, data: Data, submitter: UInt32, status: FileStatus, birthTime: Int64) {
    self.name = name
    self.data = data
    self.submitter = submitter
    // Anybody else may choose such a name.
    firing = status.owner == Credentials.effectiveUser ? Submitter.firing(name) : nil
    var hash = StableHash()
    hash.combine(name.bytes)
    for number in [Int64(bitPattern: status.inode), status.modificationTime, status.size, birthTime] {
      hash.combine(number)
    }
    self.hash = hash.value
  }

  /// A form of the IDs that the daemon makes of files.
  enum IDForm: Sendable, Equatable {
    /// The form that people type; another file may have the same ID.
    case short
    /// The form with the whole hash.
    case long
    /// The same in the spool of one of several hosts, where files of the same name and inode may lie.
    case ofSpool(String)
  }

  /// The digits by which records tell the file from others of the same short ID; nil for that of a firing.
  var identity: String? { firing == nil ? StableHash.digits(hash) : nil }

  /// The ID of a job whose file gives none.
  ///
  /// - Parameter name: a name in front that says more than that of the daemon's own file: the type of its job.
  func defaultID(_ form: IDForm, named name: String? = nil) -> String {
    if let firing { return firing }
    let front = Self.readable(name.map { FileName($0) } ?? self.name) + "-"
    switch form {
    case .short: return front + StableHash.letters(hash)
    case .long: return front + StableHash.digits(hash)
    case .ofSpool(let spool):
      var inSpool = StableHash()
      inSpool.combine(spool.utf8)
      inSpool.combine(defaultID(.long).utf8)
      return front + inSpool.digits
    }
  }

  /// A form of the name that can be shown anywhere.
  private static func readable(_ name: FileName) -> String {
    let ending = endings.first { name.bytes.suffix($0.utf8.count).elementsEqual($0.utf8) }
    let bytes = name.bytes.dropLast(ending?.utf8.count ?? 0)
    // As nearly all names are.
    if bytes.count <= 60 && bytes.allSatisfy(isReadable) { return String(decoding: bytes, as: UTF8.self) }
    var shown = String.UnicodeScalarView()
    for scalar in displayName(bytes).unicodeScalars.prefix(60) { shown.append(isReadable(scalar) ? scalar : "_") }
    return String(shown)
  }

  private static let endings = [".json", ".json5", ".ndjson", ".jsonl"]

  private static func isReadable(_ byte: UInt8) -> Bool {
    switch Unicode.Scalar(byte) {
    case "a"..."z", "A"..."Z", "0"..."9", ".", "-", "_": true
    default: false
    }
  }

  private static func isReadable(_ scalar: Unicode.Scalar) -> Bool {
    scalar.isASCII ? isReadable(UInt8(ascii: scalar)) : scalar.properties.isAlphabetic
  }
}

/// The submitter of a job file: its owner, unless the daemon made the file for somebody else.
///
/// A job submitted over the socket lies in a file of the daemon's. Its submitter must be known from the file alone,
/// since the next start may have nothing else: in `cur/`, where only the daemon makes files, from its name, and
/// anywhere from the mark that it gets when it leaves `cur/`, and that pictures have from the beginning.
///
/// Unmarked files of the daemon's user may also come from programs of declared types, with whatever their submitters
/// had them write. So no file in `new/` gets the rights of the daemon's user if others may put files there.
enum Submitter {
  private static let prefix = "submitted-", ending = ".json"

  /// Returns a unique name for a file with jobs that a user submitted over the socket.
  ///
  /// - Parameters:
  ///   - tag: a word of the client's, by which it finds its jobs.
  ///   - hasLines: true if it has one job on each line.
  static func fileName(for user: UInt32, tag: String? = nil, hasLines: Bool = false) -> FileName {
    let front = tag.map { "\(tagMark)\($0)." } ?? "-"
    return FileName("\(prefix)\(user)\(front)\(UUID().uuidString)\(hasLines ? ".ndjson" : ending)")
  }

  /// True for a word that may be a tag: letters, digits, hyphens, underscores, and dots except at the front.
  static func isTag(_ text: String) -> Bool { text.wholeMatch(of: /[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}/) != nil }

  /// The mark in front of a tag, which no tag has.
  private static let tagMark = "-="

  /// True if a file has this name, or was submitted with a tag that begins with the name and a dot.
  static func isFile(_ file: String, named name: String) -> Bool {
    file == name || file.hasPrefix(prefix) && isTag(name) && file.contains("\(tagMark)\(name).")
  }

  /// The condition on jobs that ``isFile(_:named:)`` is true of.
  static func condition(onFileNamed name: String) throws -> Condition {
    if !isTag(name) { return try Condition(format: "file == %@", name) }
    return try Condition(
      format: "file == %@ OR (file BEGINSWITH %@ AND file CONTAINS %@)", name, prefix, "\(tagMark)\(name).")
  }

  /// Returns the name of the folder in `uploads/` with what came with such a file: `1000-UUID`; nil for other files.
  static func uploadName(of file: FileName) -> FileName? {
    guard let text = ownText(of: file), text.hasSuffix(ending) else { return nil }
    return FileName(String(text.dropLast(ending.count)))
  }

  /// Returns the name of the file whose inputs are in a folder of `uploads/`.
  static func fileName(ofUpload name: FileName) -> FileName { FileName(bytes: prefix.utf8 + name.bytes + ending.utf8) }

  /// Returns the name of the file with the jobs of a schedule's firing, which submits them in the daemon's own name.
  static func fileName(forFiring id: String) -> FileName {
    FileName("\(prefix)\(Credentials.effectiveUser)-\(id)\(ending)")
  }

  /// Returns a unique name for a file of a user's whose jobs have the same IDs whenever they are submitted.
  static func fileName(for user: UInt32, as key: SubmissionKey) -> FileName {
    FileName("\(prefix)\(user)-\(key.id)\(repetitionMark)\(UUID().uuidString)\(ending)")
  }

  /// The mark in front of the part of a name that makes it unique, which no ID has.
  private static let repetitionMark = "~"

  /// Returns the ID of the firing, or of the client's key, whose jobs a file of the daemon's has.
  static func firing(_ name: FileName) -> String? {
    guard let text = ownText(of: name), text.hasSuffix(ending) else { return nil }
    let parts = text.dropLast(ending.count).split(separator: "-", maxSplits: 1)
    guard parts.count == 2, parts[1].contains("@") else { return nil }
    return parts[1].split(separator: repetitionMark, maxSplits: 1).first.map(String.init)
  }

  /// Returns the submitter of a file in `cur/`.
  static func user(ofClaimed file: borrowing FileDescriptor, _ name: FileName, _ status: FileStatus) throws(SystemError)
    -> UInt32
  {
    guard status.owner == Credentials.effectiveUser else { return status.owner }
    return try OutputMark.user(of: file) ?? sender(name) ?? status.owner
  }

  /// Returns the submitter of a file in `new/`; nil if that can't be known.
  ///
  /// - Parameter isShared: true if others than the daemon's user and root may put files there.
  static func user(
    ofDropped file: borrowing FileDescriptor, _ name: FileName, _ status: FileStatus,
    isShared: () throws(SystemError) -> Bool
  ) throws(SystemError) -> UInt32? {
    guard status.owner == Credentials.effectiveUser else { return status.owner }
    if let marked = try OutputMark.user(of: file) { return marked }
    // In cur/ such a name would speak for itself.
    if sender(name) != nil { return nil }
    return try isShared() ? nil : status.owner
  }

  /// Marks a file that leaves `cur/` with its submitter, if it came over the socket.
  static func mark(_ name: FileName, in directory: Directory) throws(SystemError) {
    guard let sender = sender(name) else { return }
    let file = try directory.openFile(name)
    guard try file.status().owner == Credentials.effectiveUser, try OutputMark.user(of: file) == nil else { return }
    try OutputMark.set(sender, on: file)
  }

  /// Returns the submitter of a file in `failed/`, as far as is known without opening it.
  static func user(ofFailed name: FileName, _ status: FileStatus) -> UInt32 {
    status.owner == Credentials.effectiveUser ? sender(name) ?? status.owner : status.owner
  }

  /// Returns true if a file holds jobs that came over the socket.
  static func isSent(_ name: FileName) -> Bool { sender(name) != nil }

  /// The name of a file that the daemon has made, without the prefix; nil for other files.
  private static func ownText(of name: FileName) -> String? {
    guard name.bytes.starts(with: prefix.utf8) else { return nil }
    return String(validating: name.bytes.dropFirst(prefix.utf8.count), as: UTF8.self)
  }

  private static func sender(_ name: FileName) -> UInt32? {
    guard let text = ownText(of: name) else { return nil }
    return text.split(separator: "-").first.flatMap { UInt32($0) }
  }
}
