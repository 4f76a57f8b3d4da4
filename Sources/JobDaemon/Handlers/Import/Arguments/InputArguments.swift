import JSONText
import Jobs
import RecordInput

/// The arguments that tell where the input of an import is and how it is written; what is left out is found out.
struct InputArguments {
  static let keys = [
    "input", "format", "compression", "encoding", "separator", "quote", "comment", "skipLines", "header",
    "strayQuotes", "raggedRows", "records",
  ]

  let path: String
  let options: InputOptions

  init(_ reader: ArgumentReader) throws(JobFileError) {
    path = try reader.requiredPath("input")
    var options = InputOptions()
    options.format = try reader.word("format", InputFormat.self)
    options.compression = try reader.word("compression", Compression.self)
    if let name = try reader.text("encoding") {
      guard let encoding = TextEncoding(name) else {
        throw reader.error("there is no encoding \"\(name)\"; \"iconv --list\" shows all", "encoding")
      }
      options.encoding = encoding
    }
    options.separator = try Self.character("separator", reader)
    options.comment = try Self.character("comment", reader)
    if let value = reader.value("quote") {
      options.quoting = value.isNull ? InputOptions.Quoting.none : try Self.character("quote", reader).map { .byte($0) }
    }
    options.skipLines = try reader.integer("skipLines", in: 0...1_000_000) ?? 0
    options.hasHeader = try reader.flag("header")
    options.strayQuotes = try reader.word("strayQuotes", StrayQuotes.self) ?? .error
    options.raggedRows = try reader.word("raggedRows", RaggedRows.self) ?? .error
    if let records = try reader.text("records") {
      options.path = records.isEmpty ? [] : records.split(separator: ".").map { String($0) }
    }
    if let problem = options.problem { throw reader.error(problem.message, problem.key) }
    self.options = options
  }

  /// One ASCII character.
  private static func character(_ key: String, _ reader: ArgumentReader) throws(JobFileError) -> UInt8? {
    guard let text = try reader.text(key) else { return nil }
    guard text.utf8.count == 1, let byte = text.utf8.first, byte < 0x80 else {
      throw reader.error("must be one ASCII character, but is \"\(text)\"", key)
    }
    return byte
  }
}
