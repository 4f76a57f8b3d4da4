import DelimitedText
import Jobs
import SystemSupport

/// The input of an import: records read in blocks, with their place for messages.
struct ImportInput: ~Copyable {
  private let file: FileDescriptor
  private let path: String
  let size: Int64
  let modificationTime: Int64
  var reader: DelimitedReader
  private var readOffset: Int64
  private var fieldCount: Int?

  /// Opens the file for records from a position on.
  init(
    path: String, for submitter: UserIdentity, recordLimit: Int, startingAt position: DelimitedPosition = .start
  ) throws(JobFailure) {
    let file = try submitter.openInput(path)
    let status = try Self.status(of: file, path)
    self.init(file, status, path: path, recordLimit: recordLimit, position)
  }

  private init(
    _ file: consuming FileDescriptor, _ status: FileStatus, path: String, recordLimit: Int,
    _ position: DelimitedPosition
  ) {
    self.file = file
    self.path = path
    size = status.size
    modificationTime = status.modificationTime
    reader = DelimitedReader(
      dialect: DelimitedDialect(maxRecordSize: recordLimit), blockSize: 1 << 20, startingAt: position)
    readOffset = Int64(position.byteOffset)
  }

  /// Sets the number of fields that every record must have; otherwise the first record does.
  mutating func expectFields(_ count: Int) { if count > 0 { fieldCount = count } }

  /// Goes to the next record; returns false at the end.
  mutating func next() throws(JobFailure) -> Bool {
    while true {
      let step: DelimitedReader.Step
      do throws(DelimitedTextError) {
        step = try reader.nextRecord()
      } catch {
        throw JobFailure("\(displayName(path)): \(error)")
      }
      switch step {
      case .record: return true
      case .end: return false
      case .needsInput: try fill()
      }
    }
  }

  private mutating func fill() throws(JobFailure) {
    let offset = readOffset
    var count = 0
    do throws(SystemError) {
      try reader.fill { (buffer) throws(SystemError) in
        count = try file.read(into: buffer, at: offset)
        return count
      }
    } catch {
      throw JobFailure("the input \(displayName(path)) can't be read: \(error)", isPermanent: false)
    }
    readOffset += Int64(count)
  }

  /// Checks that the present record has as many fields as the first, and is text.
  mutating func checkRecord() throws(JobFailure) {
    let expected = fieldCount ?? reader.fieldCount
    fieldCount = expected
    if reader.fieldCount != expected {
      throw failure("has \(reader.fieldCount) fields, but the first record has \(expected)")
    }
    if !isValidUTF8(reader.rawRecord) { throw failure("is not UTF-8") }
  }

  /// Checks that the file is still the one that was opened, unchanged.
  func checkUnchanged() throws(JobFailure) {
    let status = try Self.status(of: file, path)
    if status.size != size || status.modificationTime != modificationTime {
      throw JobFailure("the input \(displayName(path)) was changed while it was imported")
    }
  }

  private static func status(of file: borrowing FileDescriptor, _ path: String) throws(JobFailure) -> FileStatus {
    do throws(SystemError) { return try file.status() } catch {
      throw JobFailure("the input \(displayName(path)) can't be read: \(error)", isPermanent: error.isLasting)
    }
  }

  /// An error in the present record.
  func failure(_ message: String) -> JobFailure {
    JobFailure("\(displayName(path)): line \(reader.recordLine): the record \(message)")
  }

  func failure(_ error: ImportFieldError) -> JobFailure {
    JobFailure(
      "\(displayName(path)): line \(reader.recordLine), column \(error.column) (\(error.attribute)): \(error.message)")
  }
}
