import Jobs
import SystemSupport

/// A file of a hot folder that is to become a job: what identifies its content, and with whose rights the job runs.
struct HotFile {
  /// The reason why a file does not become a job.
  struct Refusal: Error, CustomStringConvertible { let description: String }

  /// Content up to this size is read to tell whether it has changed; of a larger file, size and time tell.
  private static let digestLimit = 16 << 20

  let form: FileForm
  /// A hash of the content.
  let digest: UInt64
  var content: HotFolderState.Digest { HotFolderState.Digest(form: form, value: digest) }
  /// The user with whose rights the job runs: the file's owner.
  let submitter: UInt32
  /// When the file was made, in nanoseconds since 1970.
  private let birthTime: Int64

  /// Opens and checks a file.
  ///
  /// - Parameter known: the hash of its content in an earlier form; read again only if it has another by now.
  /// - Throws: ``Refusal``, or the system's error.
  init(_ path: InnerPath, in tree: HotFolderTree, known: HotFolderState.Digest? = nil) throws {
    guard let name = path.names.last else { throw Refusal(description: "it is the folder itself") }
    let descriptor = try tree.directory(path.parent).openFile(name)
    let status = try descriptor.status()
    guard status.kind == .regular else { throw Refusal(description: "it is no regular file") }
    form = FileForm(status)
    submitter = try Self.submitter(
      of: descriptor, name, status, folders: tree.statuses(to: path.parent))
    birthTime = try descriptor.birthTime()
    if let known, known.form == form {
      digest = known.value
      return
    }
    var hash = StableHash()
    if status.size <= Self.digestLimit {
      hash.combine(try descriptor.readAll(limit: Self.digestLimit))
    } else {
      hash.combine(status.size)
      hash.combine(status.modificationTime)
    }
    digest = hash.value
  }

  /// Returns the file's owner, unless others may have put the file there under their name.
  ///
  /// Who may write to the folder, or to one above it within the hot folder, can put a hard link to somebody else's file
  /// there, and could have had the daemon's own user write a file.
  private static func submitter(
    of file: borrowing FileDescriptor, _ name: FileName, _ status: FileStatus, folders: [FileStatus]
  ) throws -> UInt32 {
    func isShared(besides users: [UInt32]) -> Bool {
      folders.contains { $0.isWritableByOthers || !users.contains($0.owner) }
    }
    if status.linkCount != 1 && isShared(besides: [0, status.owner]) {
      throw Refusal(
        description: "it has \(status.linkCount) hard links, and others than its owner may write to the folder; copy it"
      )
    }
    let isOthers = isShared(besides: [0, Credentials.effectiveUser])
    if status.owner == 0 && Credentials.effectiveUser != 0 && isOthers { throw Refusal.privileged }
    guard let user = try Submitter.user(ofDropped: file, name, status, isShared: { isOthers }) else {
      throw Refusal.privileged
    }
    return user
  }

  /// The ID of its job: the same as long as the file is there and its content does not change, also at the next start.
  ///
  /// The device is left out, as its number may be another after each mount.
  func id(of path: InnerPath, in folder: String) -> String {
    var hash = StableHash()
    hash.combine(path.bytes)
    for number in [Int64(bitPattern: form.inode), form.size, form.modificationTime, birthTime] { hash.combine(number) }
    hash.combine(Int64(bitPattern: digest))
    let shown = (path.names.last?.bytes ?? []).prefix(60).map { byte in
      let character = Character(Unicode.Scalar(byte))
      return byte < 0x80 && (character.isLetter || character.isNumber || ".-_".contains(character)) ? character : "_"
    }
    return "\(folder)-\(String(shown))-\(hash.digits)"
  }
}

extension HotFile.Refusal {
  static let privileged = Self(
    description: "it belongs to root or to the daemon's own user, and others may write to the folder; give the file to "
      + "the user whose rights its job is to have (chown), or the folder to root alone")
}
