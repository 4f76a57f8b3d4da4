import Foundation
import Jobs
import SystemSupport

/// A job file as it was read, once, when it was claimed; later writes by its submitter change nothing.
struct ClaimedFile: Sendable {
  let name: FileName
  let data: Data
  /// The user who owns the file, or who submitted it over the socket.
  let submitter: UInt32
  /// The ID of a job whose file gives none.
  ///
  /// It covers name, inode, times and size, so that a file which a power cut brings back is the same job, and a new file
  /// of an old name is another, even a copy with the old file's modification time: an inode's number is soon used again.
  ///
  /// In the file of a schedule's firing it is the firing's: on each host, and whenever it is submitted.
  let defaultID: String
  private let isFiring: Bool

  /// A file that has no place in the spool yet.
  init(name: FileName, data: Data, submitter: UInt32) {
    self.name = name
    self.data = data
    self.submitter = submitter
    defaultID = ""
    isFiring = false
  }

  init(name: FileName, data: Data, submitter: UInt32, status: FileStatus, birthTime: Int64) {
    self.name = name
    self.data = data
    self.submitter = submitter
    // Anybody else may choose such a name.
    if status.owner == Credentials.effectiveUser, let firing = Submitter.firing(name) {
      defaultID = firing
      isFiring = true
      return
    }
    isFiring = false
    var hash = StableHash()
    hash.combine(name.bytes)
    for number in [Int64(bitPattern: status.inode), status.modificationTime, status.size, birthTime] {
      hash.combine(number)
    }
    defaultID = Self.readable(name) + "-" + hash.digits
  }

  /// The ID that it gets in the spool of one of several hosts, where files of the same name and inode may lie.
  func defaultID(in spool: String) -> String {
    if isFiring { return defaultID }
    var hash = StableHash()
    hash.combine(spool.utf8)
    hash.combine(defaultID.utf8)
    return Self.readable(name) + "-" + hash.digits
  }

  /// The default ID with a name in front that says more than that of the daemon's own file.
  ///
  /// - Parameters:
  ///   - name: the type of its job, or another word.
  ///   - spool: the spool of one of several hosts; nil for a host of its own.
  func defaultID(named name: String, in spool: String?) -> String {
    let id = spool.map(defaultID(in:)) ?? defaultID
    return Self.readable(FileName(name)) + "-" + id.suffix(StableHash.digitCount)
  }

  /// A form of the name that can be shown anywhere.
  private static func readable(_ name: FileName) -> String {
    var text = name.description
    if text.hasSuffix(".json") { text.removeLast(5) } else if text.hasSuffix(".json5") { text.removeLast(6) }
    let shown = text.unicodeScalars.prefix(60).map { scalar in
      scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || ".-_".unicodeScalars.contains(scalar)
        ? Character(scalar) : "_"
    }
    return String(shown)
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
  static func fileName(for user: UInt32) -> FileName { FileName("\(prefix)\(user)-\(UUID().uuidString).json") }

  /// Returns the name of the file with the jobs of a schedule's firing, which submits them in the daemon's own name.
  static func fileName(forFiring id: String) -> FileName {
    FileName("\(prefix)\(Credentials.effectiveUser)-\(id)\(ending)")
  }

  /// Returns the ID of the firing whose jobs a file of the daemon's has.
  static func firing(_ name: FileName) -> String? {
    guard let text = name.string, text.hasPrefix(prefix), text.hasSuffix(ending) else { return nil }
    let parts = text.dropFirst(prefix.count).dropLast(ending.count).split(separator: "-", maxSplits: 1)
    return parts.count == 2 && parts[1].contains("@") ? String(parts[1]) : nil
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

  private static func sender(_ name: FileName) -> UInt32? {
    guard let text = name.string, text.hasPrefix(prefix) else { return nil }
    return text.dropFirst(prefix.count).split(separator: "-").first.flatMap { UInt32($0) }
  }
}
