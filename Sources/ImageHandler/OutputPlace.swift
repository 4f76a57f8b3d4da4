import Configuration
import Jobs
import SystemSupport

/// The place of an output: a folder in which the submitter may make files, and a name in it.
struct OutputPlace: Sendable {
  let folder: Directory
  let name: FileName
  private let submitter: UserIdentity

  init(_ path: String, for submitter: UserIdentity) throws(PathProblem) {
    (folder, name) = try submitter.openFolder(ofOutput: path)
    self.submitter = submitter
  }

  private init(folder: Directory, name: FileName, submitter: UserIdentity) {
    self.folder = folder
    self.name = name
    self.submitter = submitter
  }

  /// The place of another name in the same folder; nil for the name that it has.
  func named(_ text: String?) throws(PathProblem) -> OutputPlace {
    guard let text else { return self }
    let name = FileName(bytes: Array(text.utf8))
    guard name.isSingleComponent else { throw PathProblem("\(displayName(text)) can't be a file's name") }
    return OutputPlace(folder: folder, name: name, submitter: submitter)
  }

  /// The identity of a place, which is the same through whatever links and spellings.
  struct Identity: Hashable {
    let device: UInt64
    let folder: UInt64
    let name: [UInt8]
  }

  func identity() throws(SystemError) -> Identity {
    let status = try folder.status()
    return Identity(device: status.device, folder: status.inode, name: name.bytes)
  }

  /// Checks that the folder is not one of the daemon's own.
  func check(sparing folders: OwnFolders) throws(PathProblem) { try folders.refuse(folder) }

  /// Creates a file to write to: without a name, so that no crash leaves it behind, where the file system can do so.
  ///
  /// It is locked until it is closed here and wherever it was passed to: a named one without a lock is a leftover.
  ///
  /// - Parameter named: true to do without unnamed files, as on a file system that has none.
  func makeTemporary(mode: UInt32, named: Bool = false) throws(SystemError) -> TemporaryOutput {
    guard !named, let file = try folder.createUnnamedFile(mode: mode) else {
      return try makeNamedTemporary(mode: mode)
    }
    _ = try file.lock()
    return TemporaryOutput(name: nil, file: file)
  }

  private func makeNamedTemporary(mode: UInt32) throws(SystemError) -> TemporaryOutput {
    while true {
      let name = Self.unpredictableName()
      let file = try folder.createFile(name, mode: mode)
      let isLocked = try file.lock()
      // Whoever looks for leftovers may have met it before it was locked.
      if isLocked, try file.status().linkCount == 1 { return TemporaryOutput(name: name, file: file) }
      if try file.status().linkCount > 0 { try folder.unlink(name) }
    }
  }

  /// A random name that can't exist yet.
  private static func unpredictableName() -> FileName {
    let digits = (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()
    return FileName(temporaryPrefix + digits + temporaryEnding)
  }

  private static let temporaryPrefix = ".bobbin-", temporaryEnding = ".tmp"

  /// Removes what interrupted attempts left in the folder; what others have put there stays.
  ///
  /// Costs a look through the whole folder.
  func removeLeftovers() throws(SystemError) {
    let names = try folder.entries()
    for name in names {
      guard name.bytes.starts(with: Self.temporaryPrefix.utf8),
        name.bytes.suffix(4).elementsEqual(Self.temporaryEnding.utf8)
      else { continue }
      do throws(SystemError) { try removeLeftover(name) } catch {
        // Another process has removed it, or it is not a file.
        if error.code != .noEntry && error.code != .symbolicLink { throw error }
      }
    }
  }

  private func removeLeftover(_ name: FileName) throws(SystemError) {
    let status = try folder.status(of: name)
    guard status.kind == .regular, [Credentials.effectiveUser, submitter.user].contains(status.owner) else { return }
    let file = try folder.openFile(name)
    guard try file.lock(), try folder.status(of: name).isSameFile(as: file.status()) else { return }
    try folder.unlink(name)
  }

  /// Checks that what is there now, if anything, may be replaced; returns whether there is something.
  func checkTarget(of input: FileStatus) throws(PathProblem) -> Bool {
    let target: FileStatus
    do throws(SystemError) { target = try folder.status(of: name) } catch {
      if error.code == .noEntry { return false }
      throw PathProblem(error)
    }
    // A job that is run again after a crash would find its own output in place of its input.
    if target.isSameFile(as: input) { throw PathProblem("it is the input") }
    guard target.kind == .regular else { throw PathProblem("something other than a file is there") }
    let mayReplace: Bool
    do throws(SystemError) { mayReplace = try isReplaceable(target) } catch { throw PathProblem(error) }
    if mayReplace { return true }
    throw PathProblem(
      "the file there belongs to another user (\(target.owner)), and in a folder with the sticky bit only its owner may replace it; choose another name"
    )
  }

  /// True if the rules of unlink(2) and rename(2) for folders with the sticky bit let the submitter replace a file.
  private func isReplaceable(_ target: FileStatus) throws(SystemError) -> Bool {
    if !submitter.needsChecks { return true }
    let folderStatus = try folder.status()
    if !folderStatus.isSticky || folderStatus.owner == submitter.user || target.owner == submitter.user { return true }
    guard target.owner == Credentials.effectiveUser else { return false }
    return try OutputMark.user(of: folder.openFile(name)) == submitter.user
  }

  /// Gives the finished file its name, durably.
  ///
  /// - Parameters:
  ///   - temporary: the name that the file has had so far; nil if none.
  ///   - file: the file, synchronized.
  ///   - input: the job's input, which is not replaced.
  func publish(_ temporary: FileName?, _ file: borrowing FileDescriptor, of input: FileStatus) throws(PathProblem) {
    let isReplacing = try checkTarget(of: input)
    do throws(SystemError) {
      let isSticky = try folder.status().isSticky
      let mayReplace = isReplacing || !isSticky || !submitter.needsChecks
      if let temporary {
        try rename(temporary, file, replacing: mayReplace)
      } else {
        try link(file, replacing: mayReplace)
      }
      try folder.synchronize()
    } catch {
      throw PathProblem(error)
    }
  }

  /// Gives a file without a name its own; only where another is replaced has it a temporary one for a moment.
  private func link(_ file: borrowing FileDescriptor, replacing: Bool) throws(SystemError) {
    do throws(SystemError) {
      return try folder.link(file, as: name)
    } catch {
      guard error.code == .exists, replacing else { throw error }
    }
    let temporary = Self.unpredictableName()
    try folder.link(file, as: temporary)
    do throws(SystemError) {
      try rename(temporary, file, replacing: true)
    } catch {
      // The first error is the one to report.
      try? folder.unlink(temporary)
      throw error
    }
  }

  /// - Parameter replacing: false where a file that has come there since the check must not be replaced.
  private func rename(
    _ temporary: FileName, _ file: borrowing FileDescriptor, replacing: Bool
  ) throws(SystemError) {
    guard try folder.status(of: temporary).isSameFile(as: file.status()) else {
      throw SystemError(
        .exists, call: "renameat2", subject: temporary.description, hint: "another file was put in its place")
    }
    do throws(SystemError) {
      try folder.rename(temporary, to: name, replacing: replacing)
    } catch {
      // Not every file system can keep from replacing: there, what was checked a moment ago must do.
      guard error.code == .invalidArgument, !replacing else { throw error }
      try folder.rename(temporary, to: name)
    }
  }
}

/// A file that an output is written to, with the name that it has until it is whole, if any.
struct TemporaryOutput: ~Copyable {
  let name: FileName?
  let file: FileDescriptor
}
