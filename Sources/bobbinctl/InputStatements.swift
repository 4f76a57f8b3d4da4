import RecordInput
import TextSupport

/// The options that describe an input, with the same names as a job file's arguments.
enum InputStatements {
  static let options = [
    Option("--format", .required("FORMAT"), help: "csv, tsv, ndjson or json"),
    Option("--compression", .required("KIND"), help: "none, gzip or zstd"),
    Option("--encoding", .required("NAME"), help: "As iconv names it, such as utf-8, utf-16, windows-1252"),
    Option("--separator", .required("CHARACTER"), help: "Between fields; tab for a tab"),
    Option("--quote", .required("CHARACTER"), help: "Around fields; none if there are no quotes"),
    Option("--comment", .required("CHARACTER"), help: "Begins lines that are left out"),
    Option("--skip-lines", .required("N"), help: "Leave out so many lines at the start"),
    Option("--header", .required("YES|NO"), help: "Whether the first record names the columns"),
    Option("--stray-quotes", .required("POLICY"), help: "error or literal"),
    Option("--ragged-rows", .required("POLICY"), help: "error, pad, truncate or fit (default: pad)"),
    Option("--records", .required("PATH"), help: "The keys that lead to the array of records, as a.b"),
  ]

  /// Reads the options; mistakes become problems of the arguments.
  static func read(_ arguments: inout ParsedArguments) -> InputOptions {
    var options = InputOptions()
    options.flattensObjects = true
    options.allowsAnyFieldCount = true
    options.format = word("--format", &arguments)
    options.compression = word("--compression", &arguments)
    if let name = arguments["--encoding"] {
      options.encoding = TextEncoding(name)
      if options.encoding == nil {
        arguments.addProblem("there is no encoding \"\(name)\"; \"iconv --list\" shows all")
      }
    }
    options.separator = character("--separator", &arguments)
    options.comment = character("--comment", &arguments)
    if arguments["--quote"] == "none" {
      options.quoting = InputOptions.Quoting.none
    } else if let quote = character("--quote", &arguments) {
      options.quoting = .byte(quote)
    }
    options.skipLines = arguments.number("--skip-lines", in: 0...1_000_000) ?? 0
    let header: YesOrNo? = word("--header", &arguments)
    options.hasHeader = header.map { $0 == .yes }
    options.strayQuotes = word("--stray-quotes", &arguments) ?? .error
    options.raggedRows = word("--ragged-rows", &arguments) ?? .pad
    options.path = arguments["--records"].map { $0.split(separator: ".").map { String($0) } }
    if let problem = options.problem { arguments.addProblem("--\(problem.key) \(problem.message)") }
    return options
  }

  private enum YesOrNo: String, CaseIterable { case yes, no }

  private static func word<Word: RawRepresentable<String> & CaseIterable>(
    _ name: String, _ arguments: inout ParsedArguments
  ) -> Word? {
    guard let text = arguments[name] else { return nil }
    if let word = Word(rawValue: text.lowercased()) { return word }
    arguments.addProblem(
      "\(name) takes one of \(Word.allCases.map(\.rawValue).joined(separator: ", ")), not \"\(text)\"")
    return nil
  }

  private static func character(_ name: String, _ arguments: inout ParsedArguments) -> UInt8? {
    guard let text = arguments[name] else { return nil }
    if text == "tab" || text == "\\t" { return 0x09 }
    if text.utf8.count == 1, let byte = text.utf8.first, byte < 0x80 { return byte }
    arguments.addProblem("\(name) takes one ASCII character, not \"\(text)\"")
    return nil
  }
}
