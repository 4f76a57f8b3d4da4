import Foundation
import HTTPService
import Jobs
import Synchronization
import SystemSupport

/// A form with a job file and the inputs of its jobs, as it comes: the inputs go to disk, the job file to memory.
final class UploadedForm: HTTPBodySink {
  /// The name of the part with the job file.
  static let documentName = "job"
  private static let longestName = 100

  private struct State {
    var reader: MultipartReader
    var document: Data?
    /// The names of the files of inputs, by their names in the form.
    var inputs: [String: String] = [:]
    /// The input that comes; nil for the job file.
    var part: UploadedInput?
    /// The mistake in the form, behind which nothing is read.
    var problem: (any Error)?
  }

  private let folder: UploadFolder
  private let documentLimit: Int
  private let state: Mutex<State>

  /// - Parameters:
  ///   - folder: the place of the inputs.
  ///   - documentLimit: the most bytes of the job file.
  init(_ reader: MultipartReader, into folder: UploadFolder, documentLimit: Int) {
    self.folder = folder
    self.documentLimit = documentLimit
    state = Mutex(State(reader: reader))
  }

  func append(_ bytes: UnsafeRawBufferPointer) throws {
    try state.withLock { state in
      if state.problem != nil { return }
      var reader = state.reader
      do {
        try reader.read(bytes) { try take($0, &state) }
        state.reader = reader
      } catch let error as SystemError {
        throw error
      } catch {
        state.problem = error
      }
    }
  }

  /// Checks that the form is complete, and returns the job file with its inputs.
  ///
  /// - Throws: ``FormError``, ``MultipartError``.
  func finish() throws -> (document: Data, inputs: ReceivedInputs) {
    try state.withLock { state in
      if let problem = state.problem { throw problem }
      try state.reader.finish()
      guard let document = state.document else {
        throw FormError("the form has no part \"\(Self.documentName)\" with a job file")
      }
      return (document, ReceivedInputs(folder: folder, files: state.inputs))
    }
  }

  private func take(_ event: MultipartReader.Event, _ state: inout State) throws {
    switch event {
    case .begin(Self.documentName):
      if state.document != nil { throw FormError("the form has two parts \"\(Self.documentName)\"") }
      state.document = Data()
    case .begin(let name):
      try Self.check(name, isKnown: state.inputs[name] != nil)
      state.part = try folder.begin(name)
    case .bytes(let bytes):
      if let part = state.part { return try part.write(bytes) }
      guard (state.document?.count ?? 0) + bytes.count <= documentLimit else {
        throw FormError("a job file may have \(documentLimit) bytes")
      }
      state.document?.append(contentsOf: bytes)
    case .end:
      guard let part = state.part else { return }
      state.part = nil
      state.inputs[part.name] = try part.finish()
    }
  }

  /// Checks the name of an input.
  static func check(_ name: String, isKnown: Bool) throws(FormError) {
    guard isAllowed(name) else {
      throw FormError(
        "an input can't be called \"\(displayName(name))\": names are up to \(longestName) letters, digits, dots, "
          + "hyphens and underscores, and no dot first")
    }
    if isKnown { throw FormError("there are two inputs \"\(name)\"") }
  }

  private static func isAllowed(_ name: String) -> Bool {
    let isText = name.utf8.allSatisfy {
      switch $0 {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
        true
      default: false
      }
    }
    return isText && 1...longestName ~= name.utf8.count && !name.hasPrefix(".")
  }
}

/// The reason why a form, or open files, are not a job file with its inputs.
struct FormError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// Submissions with inputs.
extension StatusService {
  static func hasForm(_ request: HTTPRequest) -> Bool {
    request.headers["Content-Type"]?.lowercased().hasPrefix("multipart/") == true
  }

  /// Has the inputs of a form written to the spool.
  func place(formOf request: HTTPRequest, length: UInt64) -> HTTPBodyPlace {
    guard let reader = MultipartReader(contentType: request.headers["Content-Type"] ?? "") else {
      return .refused(
        .failure(
          400, code: "bad-request", message: "Content-Type is not multipart/form-data with a boundary",
          hint: "curl --form makes such requests"))
    }
    do {
      let folder = try daemon.uploads.receive(length, for: request.client.credentials?.user ?? .max)
      return .sink(
        UploadedForm(reader, into: folder, documentLimit: daemon.configuration.value.spool.maxJobFileSize))
    } catch {
      return .refused(response(to: error))
    }
  }

  static func response(to error: UploadRefusal) -> HTTPResponse {
    switch error.code {
    case .tooLarge:
      .failure(413, code: "body-too-large", message: error.message, hint: "set [Spool] MaxUploadSize, or name a path")
    case .tooMany:
      .failure(
        429, code: "quota", message: error.message,
        hint:
          "try again when some are completed, or set [Spool] MaxUploadBytesPerUser; failed jobs keep theirs as long as "
          + "their file is in failed/")
    case .noRoom: .failure(503, code: "storage-full", message: error.message)
    }
  }
}
