import HTTPService
import Jobs
import SystemSupport

/// Open files that a client has passed with a job file, whose contents become inputs of its jobs.
///
/// Only what the client could open is read, and only as far as the file reaches when it comes: so nobody has to open a private
/// file to the daemon or to a group.
struct OpenInputs: Sendable {
  /// The item of a query that names them, in the order in which they were passed.
  static let key = "descriptors"
  private static let blockSize = 1 << 20

  private let names: [String]
  private let files: PassedFiles?

  /// Returns nil for a request that names none.
  init?(_ request: HTTPRequest) {
    guard let names = request.query(Self.key) else { return nil }
    self.names = names.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    files = request.passed
  }

  /// True if the files were dropped, as too many are open already.
  var areDropped: Bool { files?.count == 0 }

  /// Copies the files to a folder of uploads, which takes as long as the disk needs for it.
  ///
  /// - Throws: ``OpenInputsError``, ``FormError``, ``UploadRefusal``, `SystemError`.
  func receive(into uploads: Uploads, for user: UInt32) throws -> ReceivedInputs {
    let received = try files?.read { numbers in
      numbers.count == names.count ? try copy(numbers, into: uploads, for: user) : nil
    }
    if let received = received ?? nil { return received }
    throw OpenInputsError(
      "the request names \(names.count) open files, and \(files?.count ?? 0) have come; they come with an empty "
        + "line before the first request of a connection over the Unix socket")
  }

  /// - Parameter numbers: one for each name.
  private func copy(_ numbers: [Int32], into uploads: Uploads, for user: UInt32) throws -> ReceivedInputs {
    var sources: [OpenFile] = []
    for (name, number) in zip(names, numbers) {
      try UploadedForm.check(name, isKnown: sources.contains { $0.name == name })
      sources.append(try OpenFile(name, number))
    }
    // Sparse files may claim any size.
    let total = sources.reduce(0 as UInt64) { $0.addingReportingOverflow($1.size).overflow ? .max : $0 + $1.size }
    let folder = try uploads.receive(total, for: user)
    var received: [String: String] = [:]
    for source in sources {
      let input = try folder.begin(source.name)
      try source.copy(to: input, by: Self.blockSize)
      received[source.name] = try input.finish()
    }
    return ReceivedInputs(folder: folder, files: received)
  }

  /// One of the files, which others close.
  private struct OpenFile {
    let name: String
    let size: UInt64
    private let number: Int32

    init(_ name: String, _ number: Int32) throws {
      (self.name, self.number) = (name, number)
      size = try FileDescriptor.borrowing(number) { try Self.check($0, name) }
    }

    /// Checks that a file can be read without waiting for anybody, and returns its size.
    private static func check(_ descriptor: borrowing FileDescriptor, _ name: String) throws -> UInt64 {
      guard try descriptor.isReadable() else {
        throw OpenInputsError("the input \"\(name)\" was not opened for reading")
      }
      // Before its status, for which such a file system could let one wait as well.
      if try descriptor.isMadeWhenRead() {
        throw OpenInputsError("the input \"\(name)\" lies on a file system of the kernel or of a program (FUSE)")
      }
      let status = try descriptor.status()
      guard status.kind == .regular else { throw OpenInputsError("the input \"\(name)\" is no regular file") }
      return UInt64(max(0, status.size))
    }

    func copy(to input: UploadedInput, by blockSize: Int) throws {
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: blockSize, alignment: 16)
      defer { buffer.deallocate() }
      var offset: UInt64 = 0
      while offset < size {
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(min(UInt64(blockSize), size - offset))))
        let count = try FileDescriptor.borrowing(number) { try $0.read(into: part, at: Int64(offset)) }
        if count == 0 { throw OpenInputsError("the input \"\(name)\" has become shorter while it was copied") }
        try input.write(UnsafeRawBufferPointer(rebasing: part.prefix(count)))
        offset += UInt64(count)
      }
    }
  }
}

/// The reason why open files are not taken as inputs.
struct OpenInputsError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
