import DelimitedText
import Foundation
import JSONText
import RecordInput
import SystemSupport
import TextSupport

/// `bobbinctl model infer`: makes a model and an import job of a file's data.
struct ModelCommand: Subcommand {
  static let name = "model"
  static let usage = "model infer [--output DIR] [--entity NAME] [--json] FILE"
  static let summary = "Make a model and an import job for a file of data"
  static let details = """
    Reads all of FILE (CSV, TSV, NDJSON or a JSON array, also packed with gzip or zstd) and finds the narrowest type
    that holds every value of a column: Integer 16, 32 or 64, Double, Decimal where a Double would lose digits,
    Boolean, Date, UUID, else String. Numbers such as 1.234,5 and dates such as 31.12.2026 are known, too, if all values
    are written so and leave no doubt. An attribute is optional if a record has no value for it.

    Writes NAME.xcdatamodeld, to be put into the daemon's models/, and NAME.json, the job file of the import. Neither
    may exist already. The form of the file is detected, unless it is stated; bobbinctl(1) explains the options.
    No daemon is needed.
    """
  static let options =
    [
      Option("--output", .required("DIR"), help: "Where to write (default: the working directory)"),
      Option("--entity", .required("NAME"), help: "What to call the entity (default: by the file's name)"),
    ] + InputStatements.options

  private let file: String
  private let output: String
  private let entity: String
  private let options: InputOptions
  private let statesStrayQuotes: Bool

  init(_ arguments: inout ParsedArguments) {
    let operands = arguments.operands
    if operands.first != "infer" || operands.count != 2 {
      arguments.addProblem("an action and a file are missing: \(Self.usage)")
    }
    file = operands.count > 1 ? operands[1] : ""
    output = arguments["--output"] ?? "."
    entity = arguments["--entity"] ?? ModelNames.entity(file)
    if !ModelNames.isEntity(entity) {
      arguments.addProblem(
        "\"\(entity)\" can't name an entity: a capital letter, then letters and digits, and none of bobbin's own")
    }
    options = InputStatements.read(&arguments)
    statesStrayQuotes = arguments["--stray-quotes"] != nil
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    var options = options
    var (form, table) = try readTable(options, session)
    if table.hasStrayQuotes, !statesStrayQuotes {
      options.strayQuotes = .literal
      (form, table) = try readTable(options, session)
      session.output.note("\(file): quotes inside fields without quotes are text, as \"strayQuotes\" in the job says")
    }
    for error in table.errors { session.output.note("\(file): \(error)") }
    if table.badRecords > 0 {
      session.output.note(
        table.badRecords == 1
          ? "1 record can't be read and is ignored; the import will reject it"
          : "\(table.badRecords) records can't be read and are ignored; the import will reject them")
    }
    guard table.records > 0, !table.columns.isEmpty else {
      throw ToolError(.unreadableFile, "\(file): there are no records to learn from")
    }
    let model = InferredModel(entity: entity, table, hasKeys: !form.isDelimited && form.hasHeader)
    if model.attributes.count > 1_900 {
      throw ToolError(.unreadableFile, "\(file): has \(model.attributes.count) columns; a table holds 1900")
    }
    let job = model.job(
      input: URL(filePath: file).standardizedFileURL.path(percentEncoded: false), form: form, options: options,
      table: table)
    let bundle = "\(output)/\(entity).xcdatamodeld"
    let jobFile = "\(output)/\(entity).json"
    let jobText = try Self.text(of: job, file: file)
    try write(model.contents, in: bundle, jobText, to: jobFile)
    try report(model, table: table, written: [bundle, jobFile], session: session)
    return .success
  }

  /// The largest job file that a daemon takes unless it is configured otherwise.
  private static let largestJob = 1 << 20

  /// The job file, as people read it if it may be as large as that.
  private static func text(of job: JSONValue, file: String) throws(ToolError) -> String {
    for text in [job.serialized(pretty: true), job.serialized()] where text.utf8.count < largestJob {
      return text + "\n"
    }
    throw ToolError(
      .unreadableFile,
      "\(file): its columns have such long names that the job file would have more than the \(largestJob) bytes that a "
        + "daemon takes", hint: "shorten the names in its first record, or state how it is written with --separator")
  }

  private func readTable(_ options: InputOptions, _ session: Session) throws(ToolError) -> (InputForm, TableGuess) {
    do {
      let descriptor = try FileDescriptor.open(file)
      let size = try descriptor.status().size
      let source = try RecordSource(descriptor, options)
      let table = try TableGuess(source) {
        session.output.showProgress("\(source.fileOffset * 100 / max(size, 1)) % of \(file)")
      }
      session.output.clearProgress()
      return (source.form, table)
    } catch {
      session.output.clearProgress()
      throw ToolError(.unreadableFile, "\(file): \(error)")
    }
  }

  private func write(_ contents: String, in bundle: String, _ job: String, to jobFile: String) throws(ToolError) {
    let manager = FileManager.default
    for path in [bundle, jobFile] where manager.fileExists(atPath: path) {
      throw ToolError(
        .outputFailed, "\(path) exists already", hint: "remove it, or choose another --output or --entity")
    }
    do {
      let folder = "\(bundle)/\(entity).xcdatamodel"
      try manager.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try Data(contents.utf8).write(to: URL(filePath: folder + "/contents"), options: .atomic)
      try Data(job.utf8).write(to: URL(filePath: jobFile), options: .atomic)
    } catch {
      throw ToolError(.outputFailed, "\(output) can't be written to: \(error.localizedDescription)")
    }
  }

  private func report(
    _ model: InferredModel, table: TableGuess, written: [String], session: Session
  ) throws(ToolError) {
    if session.printsJSON {
      let attributes = model.attributes.map { attribute in
        JSONValue.object([
          "column": attribute.column.map { .string($0) } ?? .null, "name": .string(attribute.name),
          "type": .string(attribute.type.rawValue), "optional": .bool(attribute.isOptional),
          "written": Self.written(attribute).map { .string($0) } ?? .null,
        ])
      }
      let value: JSONValue = .object([
        "entity": .string(entity), "records": .integer(table.records), "badRecords": .integer(table.badRecords),
        "attributes": .array(attributes), "files": .array(written.map { .string($0) }),
      ])
      return try session.output.write(value.serialized() + "\n")
    }
    var shown = Table(columns: [
      .init(title: "COLUMN", isFlexible: true), .init(title: "ATTRIBUTE"), .init(title: "TYPE"),
    ])
    for (index, attribute) in model.attributes.enumerated() {
      shown.rows.append([
        .init(attribute.column ?? "\(index + 1)"), .init(attribute.name),
        .init(
          attribute.type.rawValue + (Self.written(attribute).map { " (\($0))" } ?? "")
            + (attribute.isOptional ? ", optional" : "")),
      ])
    }
    try session.output.write(shown)
    try session.output.write(
      singleLine(
        "\(table.records) \(table.records == 1 ? "record" : "records"); wrote \(written.joined(separator: " and "))")
        + "\n"
        + "Next: put the model into the daemon's models/, restart it, and submit the job file.\n")
  }

  /// The notation of values that are not written in the usual way.
  private static func written(_ attribute: InferredModel.Attribute) -> String? {
    switch attribute.spelling {
    case .usual: nil
    case .numbers(let notation):
      notation.grouping.isEmpty ? "1\(notation.decimal)5" : "1\(notation.grouping)234\(notation.decimal)5"
    case .dates(let pattern): pattern
    }
  }
}

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
