// The target of scripts/fuzz-records, compiled together with the sources that it tests.
import DelimitedText
import Foundation
import JSONText
import SystemSupport

/// What a source tells about a record or an error.
private struct Read: Equatable {
  var fields: [[UInt8]] = []
  var kinds: [FieldKind] = []
  var raw: [UInt8] = []
  var line = 0
  var offset = 0
  var next = RecordPosition.start
  var error: RecordError?
}

private struct Outcome: Equatable {
  var records: [Read] = []
  var failure: InputError?
}

/// What libFuzzer calls with each input: two bytes that choose how the rest is read, and the rest.
///
/// Whatever it is, it is read or refused; in blocks of another size, and from any position on, it reads the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRecords(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  guard let start, count >= 2 else { return 0 }
  let text = Array(UnsafeBufferPointer(start: start + 2, count: count - 2))
  let options = options(start[0])
  guard let (form, whole) = read(text, options) else { return 0 }
  var smaller = options
  smaller.blockSize = 1 + Int(start[1]) % 67
  // What the form is found out from must not depend on blocks either.
  guard let (again, parts) = read(text, smaller) else { fatalError("refused in blocks of \(smaller.blockSize)") }
  require(form == again && whole == parts, "blocks of \(smaller.blockSize) read otherwise")
  check(whole, form, text)
  // Columns that are found record by record depend on where one begins; whoever goes on states them.
  if !form.isDelimited, form.hasHeader, options.columns == nil { return 0 }
  for index in whole.records.indices.prefix(8) {
    guard let (_, rest) = read(text, smaller, from: whole.records[index].next) else { fatalError("refused later") }
    require(rest.records == Array(whole.records[(index + 1)...]), "goes on otherwise behind record \(index)")
    require(rest.failure == whole.failure, "fails otherwise behind record \(index)")
  }
  return 0
}

private func options(_ choice: UInt8) -> InputOptions {
  var options = InputOptions()
  // Larger than any input, and still made and thrown away quickly.
  options.blockSize = 4096
  options.format = [nil, .csv, .ndjson, .json][Int(choice & 3)]
  options.raggedRows = RaggedRows.allCases[Int(choice >> 2 & 3)]
  if choice & 16 != 0 { options.strayQuotes = .literal }
  if choice & 32 != 0 { options.columns = ["a", "b.c", "b"] }
  if choice & 64 != 0 { (options.maxRecordSize, options.maxFieldCount) = (24, 4) }
  if choice & 128 != 0 {
    options.hasHeader = false
    if options.format != .ndjson && options.format != .json { (options.skipLines, options.comment) = (1, 0x23) }
  }
  return options
}

/// Nil if the text is refused as a whole.
private func read(
  _ text: [UInt8], _ options: InputOptions, from position: RecordPosition? = nil
) -> (InputForm, Outcome)? {
  guard let file = try? FileDescriptor.inMemory(named: "input"), (try? file.writeAll(Data(text))) != nil else {
    fatalError("there is no memory for a file")
  }
  guard let source = try? RecordSource(file, options) else { return nil }
  var outcome = Outcome()
  do throws(InputError) {
    if let position { try source.go(to: position) }
    while true {
      var read = Read()
      switch try source.next() {
      case .end: return (source.form, outcome)
      case .bad(let error): read.error = error
      case .record:
        for index in 0..<source.record.fields.count {
          read.fields.append(Array(source.record.fields[index]))
          read.kinds.append(source.record.fields.kind(index))
        }
      }
      read.raw = Array(source.record.raw)
      (read.line, read.offset, read.next) = (source.record.line, source.record.offset, source.position)
      outcome.records.append(read)
    }
  } catch {
    require(!error.description.isEmpty)
    outcome.failure = error
  }
  return (source.form, outcome)
}

private func check(_ outcome: Outcome, _ form: InputForm, _ text: [UInt8]) {
  var position = RecordPosition.start
  for record in outcome.records {
    require(record.offset >= position.byteOffset && record.line >= position.line, "records overlap")
    require(record.next.byteOffset >= record.offset + record.raw.count, "a record ends behind its end")
    position = record.next
    if form.compression == .none, form.encoding == .utf8 {
      require(text[record.offset...].starts(with: record.raw), "the raw text is not what is there")
    }
    if let error = record.error {
      require(!error.message.isEmpty && error.line >= 1 && error.column >= 1, "\(error)")
    } else {
      for field in record.fields { require(String(validating: field, as: UTF8.self) != nil, "no text") }
    }
    if !form.isDelimited { compare(record, form) }
  }
}

/// Compares with the reader that makes a tree: it accepts the same texts, and an array has the same elements.
private func compare(_ record: Read, _ form: InputForm) {
  // A mark that a text begins with is no part of it, but in front of any later record it is no JSON.
  if record.raw.starts(with: [0xEF, 0xBB, 0xBF]) {
    return require(record.error != nil, "a mark was taken for a blank")
  }
  let rule = record.error?.rule
  guard rule == nil || rule == "json" || JSONError.Code.known.contains(rule ?? "") else { return }
  do throws(JSONError) {
    let value = try JSONValue(parsing: record.raw, limits: treeLimits)
    require(record.error == nil, "JSON is refused: \(String(decoding: record.raw, as: UTF8.self))")
    // Elements may have been dropped, or added, to fit the first record.
    guard !form.hasHeader, let elements = value.array, elements.count == record.fields.count else { return }
    for (index, element) in elements.enumerated() where !record.kinds[index].isMissing {
      let field = record.fields[index]
      let isSame =
        record.kinds[index] == .quotedText
        ? element == .string(String(decoding: field, as: UTF8.self))
        : (try? JSONValue(parsing: field, limits: treeLimits)) == element
      require(isSame, "element \(index) of \(String(decoding: record.raw, as: UTF8.self))")
    }
  } catch {
    let isLimit = error.code == .tooDeep || error.message.contains("too large")
    require(record.error != nil || isLimit, "no JSON: \(String(decoding: record.raw, as: UTF8.self)): \(error)")
  }
}

private let treeLimits = JSONLimits(depth: 512, duplicateKeys: .useLast)

extension JSONError.Code {
  fileprivate static let known: Set<String> = Set(
    [notUTF8, unexpectedEnd, unexpectedText, invalidString, invalidNumber].map(\.rawValue))
}

/// Optimized code tells no reason of a failed precondition.
private func require(_ condition: Bool, _ reason: @autoclosure () -> String = "no message") {
  if !condition { fatalError(reason()) }
}
