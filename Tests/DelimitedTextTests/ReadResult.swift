import DelimitedText

/// All that a reader tells about one record or error, as values that can be compared.
struct ReadRecord: Equatable {
  var fields: [String] = []
  var quoted: [Bool] = []
  var raw = ""
  var line = 0
  var offset = 0
  var next = RecordPosition.start
  var error: DelimitedTextError?
}

/// Reads a whole text, given in pieces of at most `piece` bytes.
func readAll(
  _ bytes: [UInt8], _ dialect: DelimitedDialect = .csv, blockSize: Int = 1 << 16, piece: Int = .max,
  from position: RecordPosition = .start
) -> [ReadRecord] {
  var reader = DelimitedReader(dialect: dialect, blockSize: blockSize, startingAt: position)
  var given = position.byteOffset
  var result: [ReadRecord] = []
  while true {
    var record = ReadRecord()
    do throws(DelimitedTextError) {
      switch try reader.nextRecord() {
      case .end: return result
      case .needsInput:
        reader.fill { buffer in
          let count = min(buffer.count, piece, bytes.count - given)
          buffer.copyBytes(from: bytes[given..<given + count])
          given += count
          return count
        }
        continue
      case .record: break
      }
    } catch {
      record.error = error
    }
    let present = reader.record
    for index in 0..<present.fields.count {
      record.fields.append(String(decoding: present.fields[index], as: UTF8.self))
      record.quoted.append(present.fields.kind(index) == .quotedText)
    }
    record.raw = String(decoding: present.raw, as: UTF8.self)
    record.line = present.line
    record.offset = present.offset
    record.next = reader.position
    result.append(record)
  }
}

func readAll(_ text: String, _ dialect: DelimitedDialect = .csv) -> [ReadRecord] { readAll(Array(text.utf8), dialect) }

func fields(_ text: String, _ dialect: DelimitedDialect = .csv) -> [[String]] { readAll(text, dialect).map(\.fields) }

/// Calls with the bytes of a text, as a reader's field gives them.
func withBytes<Result>(_ text: String, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
  Array(text.utf8).withUnsafeBytes(body)
}
