package import JSONText
internal import SystemSupport

/// The inputs that came with jobs over the socket: `uploads/USER-FILE/HASH-NAME` in the spool, which only the daemon can look
/// into.
///
/// They are the user's who sent them: jobs of others can't read them, although the daemon could.
package struct UploadedInputs: Sendable {
  private let folder: String

  /// - Parameter folder: the path of `uploads/`.
  package init(_ folder: String) { self.folder = folder }

  /// The name of an input's file: the beginning of the SHA-256 of its content, and the name under which it came.
  package static func fileName(of name: String, hash: String) -> String { "\(hash.prefix(hashDigits))-\(name)" }

  private static let hashDigits = 32
  private static let folderName = "uploads"

  /// Arguments with the inputs as what they are, wherever they lie: what was sent twice lies in two folders.
  package static func withoutFolders(_ arguments: JSONValue) -> JSONValue {
    switch arguments {
    case .string(let path): .string(withoutFolder(path))
    case .array(let values): .array(values.map { withoutFolders($0) })
    case .object(let values):
      .object(values.reduce(into: values) { $0[$1.key] = withoutFolders($1.value) })
    default: arguments
    }
  }

  private static func withoutFolder(_ path: String) -> String {
    let parts = path.split(separator: "/")
    guard parts.count > 2, parts[parts.count - 3] == folderName, parts[parts.count - 2].first?.isNumber == true,
      let hash = parts.last?.utf8.prefix(hashDigits + 1), hash.count == hashDigits + 1, hash.last == UInt8(ascii: "-"),
      hash.dropLast().allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit })
    else { return path }
    return "/" + (parts.dropLast(2) + parts.suffix(1)).joined(separator: "/")
  }

  /// Opens an input; nil for a path elsewhere.
  ///
  /// - Throws: ``JobFailure`` if it is another user's, or gone.
  func open(_ path: String, for submitter: UInt32) throws -> FileDescriptor? {
    guard path.hasPrefix(folder + "/") else { return nil }
    let names = path.dropFirst(folder.count + 1).split(separator: "/", omittingEmptySubsequences: false)
    guard names.count == 2, names[0].split(separator: "-").first.flatMap({ UInt32($0) }) == submitter,
      !names[1].hasPrefix(".")
    else {
      throw JobFailure("the input \(displayName(path)) did not come with a job of this user", isPermanent: true)
    }
    do throws(SystemError) {
      return try Directory(path: folder).openDirectory(FileName(String(names[0]))).openFile(FileName(String(names[1])))
    } catch {
      if error.code == .noEntry {
        throw JobFailure(
          "the input \(displayName(path)) is gone: what comes with jobs is kept until they are over; submit it again, "
            + "with --replace if the job has an ID of its own",
          isPermanent: true)
      }
      throw JobFailure("the input \(displayName(path)) can't be read: \(error)", isPermanent: error.isLasting)
    }
  }
}
