import JSONText
import Jobs
import RecordInput
import SystemSupport

/// The input of an import: a source of records, and the file that it must stay.
struct ImportInput: ~Copyable {
  private let path: String
  let size: Int64
  let modificationTime: Int64
  let source: RecordSource

  /// Opens the file for its first record.
  init(_ name: String, of execution: JobExecution, for submitter: UserIdentity, _ options: InputOptions) throws {
    let path = execution.absolutePath(name)
    let file = try execution.openInput(name, for: submitter)
    let source: RecordSource
    do throws(InputError) { source = try RecordSource(file, options) } catch { throw Self.failure(error, path) }
    let status = try Self.status(of: source, path)
    self.path = path
    self.source = source
    size = status.size
    modificationTime = status.modificationTime
  }

  /// Goes on at a position that the source gave.
  mutating func go(to position: RecordPosition) throws {
    do throws(InputError) { try source.go(to: position) } catch { throw Self.failure(error, path) }
  }

  /// Goes to the next record.
  @inline(__always)
  func next() throws -> RecordSource.Step {
    do throws(InputError) { return try source.next() } catch { throw Self.failure(error, path) }
  }

  /// Checks that the file is still the one that was opened, unchanged.
  func checkUnchanged() throws {
    let status = try Self.status(of: source, path)
    if status.size != size || status.modificationTime != modificationTime {
      throw JobFailure("the input \(displayName(path)) was changed while it was imported")
    }
  }

  private static func status(of source: RecordSource, _ path: String) throws -> FileStatus {
    do throws(SystemError) { return try source.fileStatus() } catch {
      throw JobFailure("the input \(displayName(path)) can't be read: \(error)", isPermanent: error.isLasting)
    }
  }

  private static func failure(_ error: InputError, _ path: String) -> JobFailure {
    JobFailure("the input \(displayName(path)) can't be read: \(error)", isPermanent: error.isLasting)
  }
}

extension InputForm {
  /// The notation of the input, for a job's result.
  var json: JSONValue {
    var object: JSONObject = [
      "format": .string(format.rawValue), "compression": .string(compression.rawValue),
      "encoding": .string(encoding.name),
    ]
    if isDelimited {
      object["separator"] = .string(String(Character(Unicode.Scalar(dialect.separator))))
      object["quote"] = dialect.quote.map { .string(String(Character(Unicode.Scalar($0)))) } ?? .null
      object["header"] = .bool(hasHeader)
    } else if !path.isEmpty {
      object["records"] = .string(path.joined(separator: "."))
    }
    return .object(object)
  }
}

extension InputForm {
  /// A record of fields, as the input would have it.
  func record(_ fields: [String]) -> String {
    let separator = Character(Unicode.Scalar(dialect.separator))
    let quote = dialect.quote.map { Character(Unicode.Scalar($0)) }
    return fields.map { field in
      guard let quote, field.contains(where: { $0 == separator || $0 == quote || $0.isNewline }) else { return field }
      return "\(quote)\(field.replacing(String(quote), with: "\(quote)\(quote)"))\(quote)"
    }.joined(separator: String(separator))
  }
}
