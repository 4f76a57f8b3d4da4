import Foundation
import JSONText
import RecordInput
import SystemSupport
import TextSupport

/// `bobbinctl model infer`: makes a model and an import job of files' data.
struct ModelInferring: ModelAction {
  static let options = [
    Option("--output", .required("DIR"), help: "Where to write (default: the working directory)"),
    Option(
      "--entity", .required("NAME"), help: "What to call the entity (default: by the file's name)", isRepeatable: true),
    Option("--key", .required("COLUMN"), help: "Tells records apart, perhaps together with others", isRepeatable: true),
    Option(
      "--reference", .required("COLUMN=ENTITY.KEY"), help: "Leads to the object with that key", isRepeatable: true),
    Option("--tolerate", .required("SHARE"), help: "So many values of a column may be otherwise, such as 5%"),
    Option("--null", .required("WORD"), help: "Stands for a missing value, such as n/a", isRepeatable: true),
    Option("--model", .required("BUNDLE"), help: "The model to add to, which has the entities of --reference"),
  ]

  /// A file, and the wishes about it; columns are named as in the file.
  private struct Input {
    let file: String
    let entity: String
    var key: [String] = []
    var references: [String: (entity: String, key: String)] = [:]
  }

  private let inputs: [Input]
  private let output: String
  private let bundle: String?
  private let tolerance: Double
  private let nullWords: [String]
  private let options: InputOptions
  private let statesStrayQuotes: Bool

  init(_ arguments: inout ParsedArguments, files: [String]) {
    if files.isEmpty { arguments.addProblem("a file is missing: model infer FILE...") }
    output = arguments["--output"] ?? "."
    bundle = arguments["--model"]
    nullWords = arguments.all("--null")
    tolerance = Self.percent(&arguments)
    let names = arguments.all("--entity")
    if names.count > files.count { arguments.addProblem("--entity is given more often than there are files") }
    var inputs = files.enumerated().map { place, file in
      Input(file: file, entity: place < names.count ? names[place] : ModelNames.entity(file))
    }
    for (place, input) in inputs.enumerated() {
      if !ModelNames.isEntity(input.entity) {
        arguments.addProblem(
          "\"\(input.entity)\" can't name an entity: a capital letter, then letters and digits, and none of bobbin's own"
        )
      }
      if inputs[..<place].contains(where: { $0.entity == input.entity }) {
        arguments.addProblem("two files make the entity \"\(input.entity)\"; name them with --entity")
      }
    }
    for text in arguments.all("--key") {
      guard let (place, column) = Self.column(text, of: inputs, option: "--key", &arguments) else { continue }
      inputs[place].key.append(column)
    }
    for text in arguments.all("--reference") {
      let parts = text.split(separator: "=").map(String.init)
      let end = parts.last?.split(separator: ".", maxSplits: 1).map(String.init) ?? []
      guard parts.count > 1, end.count == 2 else {
        arguments.addProblem("--reference takes COLUMN=ENTITY.KEY, not \"\(text)\"")
        continue
      }
      let name = parts.dropLast().joined(separator: "=")
      guard let (place, column) = Self.column(name, of: inputs, option: "--reference", &arguments) else { continue }
      if inputs[place].entity == end[0] {
        arguments.addProblem(
          "--reference can't lead from \(end[0]) to itself: import it without that column first, and then again with the "
            + "mode \"update\"")
      }
      inputs[place].references[column] = (end[0], end[1])
    }
    self.inputs = inputs
    options = InputStatements.read(&arguments)
    statesStrayQuotes = arguments["--stray-quotes"] != nil
  }

  private static func percent(_ arguments: inout ParsedArguments) -> Double {
    guard let text = arguments["--tolerate"] else { return 0 }
    if let percent = Double(text.hasSuffix("%") ? String(text.dropLast()) : text), (0...50).contains(percent) {
      return percent
    }
    arguments.addProblem("--tolerate takes a share from 0% to 50%, not \"\(text)\"")
    return 0
  }

  /// The file and the column that an option names: with the entity in front, if there are several files.
  private static func column(
    _ text: String, of inputs: [Input], option: String, _ arguments: inout ParsedArguments
  ) -> (place: Int, column: String)? {
    if let place = inputs.firstIndex(where: { text.hasPrefix($0.entity + ".") }) {
      return (place, String(text.dropFirst(inputs[place].entity.count + 1)))
    }
    if inputs.count == 1 { return (0, text) }
    arguments.addProblem("\(option) takes ENTITY.COLUMN if there are several files, not \"\(text)\"")
    return nil
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    let given = try bundle.map { (path) throws(ToolError) in try GivenModel(path) }
    var results: [InferredFile] = []
    for input in try ordered() {
      if let given, given.model.entitiesByName[input.entity] != nil {
        throw ToolError(.usage, "\(given.path) has an entity \(input.entity) already", hint: "choose another --entity")
      }
      let result = try read(input, behind: results, given: given, session)
      addInverses(of: result.model, to: &results)
      results.append(result)
    }
    let name = given?.name ?? inputs[0].entity
    let path = "\(output)/\(name).xcdatamodeld"
    let jobFile = "\(output)/\(inputs[0].entity).json"
    let text = try Self.text(of: job(of: results), file: inputs.map(\.file).joined(separator: ", "))
    let models = results.map(\.model)
    let contents = try given?.adding(models) ?? InferredModel.contents(models)
    try write(contents, in: path, version: given?.version ?? name, copying: given?.bundle, job: text, to: jobFile)
    for result in results { try result.report(written: [path, jobFile], session) }
    if !session.printsJSON {
      try session.output.write(
        singleLine("wrote \(path) and \(jobFile)") + "\n"
          + "Next: put the model into the daemon's models/, reload that (systemctl reload bobbind), and submit the job.\n"
      )
    }
    return .success
  }

  /// The files, those that others lead to first.
  private func ordered() throws(ToolError) -> [Input] {
    var rest = inputs
    var done: [Input] = []
    while !rest.isEmpty {
      let waiting = Set(rest.map(\.entity))
      guard let next = rest.firstIndex(where: { $0.references.values.allSatisfy { !waiting.contains($0.entity) } })
      else {
        throw ToolError(
          .usage, "\(rest.map(\.entity).joined(separator: " and ")) lead to each other in a circle",
          hint: "leave one --reference out, and fill it by an import of its own")
      }
      done.append(rest.remove(at: next))
    }
    return done
  }

  // MARK: Reading

  private func read(
    _ input: Input, behind results: [InferredFile], given: GivenModel?, _ session: Session
  ) throws(ToolError) -> InferredFile {
    var wishes = InferredModel.Wishes(key: input.key, nullWords: nullWords, tolerance: tolerance)
    var demands = TableDemands()
    demands.tolerance = tolerance / 100
    demands.nullWords = Set(nullWords)
    demands.key = input.key
    // Others lead to it by this column.
    let wanted = Set(inputs.flatMap { $0.references.values.filter { $0.entity == input.entity }.map(\.key) })
    for (column, target) in input.references.sorted(by: { $0.key < $1.key }) {
      let others = results.flatMap(\.model.attributes).compactMap(\.reference) + wishes.references.values
      let taken = others.filter { $0.entity == target.entity }.map(\.inverse)
      let key: String
      let inverse: String
      if let end = results.first(where: { $0.model.entity == target.entity }) {
        key = end.model.key[0]
        inverse = ModelNames.inverse(of: input.entity, besides: end.model.attributes.map(\.name) + taken)
        demands.references[column] = end.table.key
      } else if let given {
        key = target.key
        inverse = try given.inverse(of: input.entity, at: target.entity, key: key, besides: taken)
      } else {
        throw ToolError(
          .usage, "there is no entity \(target.entity) to refer to",
          hint: "give its file as well, or the model that has it with --model")
      }
      wishes.references[column] = .init(entity: target.entity, key: key, inverse: inverse)
    }
    let (form, options, table, key) = try readTable(input, wanted: wanted, demands: demands, session: session)
    wishes.key = key
    try check(table, of: input, key: key, session: session)
    let model = InferredModel(
      entity: input.entity, table, hasKeys: !form.isDelimited && form.hasHeader, wishes: wishes)
    if model.attributes.count > 1_900 {
      throw ToolError(.unreadableFile, "\(input.file): has \(model.attributes.count) columns; a table holds 1900")
    }
    let job = model.job(
      input: URL(filePath: input.file).standardizedFileURL.path(percentEncoded: false), form: form, options: options,
      table: table)
    return InferredFile(model: model, table: table, job: job)
  }

  /// Adds the relationships that lead back to a model's entity.
  private func addInverses(of model: InferredModel, to results: inout [InferredFile]) {
    for attribute in model.attributes {
      guard let reference = attribute.reference,
        let place = results.firstIndex(where: { $0.model.entity == reference.entity })
      else { continue }
      results[place].model.inverses.append(
        .init(name: reference.inverse, entity: model.entity, relationship: attribute.name))
    }
  }

  /// Reads a file, with its quotes taken as text if that is all that is wrong with it.
  private func readTable(
    _ input: Input, wanted: Set<String>, demands: TableDemands, session: Session
  ) throws(ToolError) -> (InputForm, InputOptions, TableGuess, key: [String]) {
    var options = options
    var (form, table, key) = try readTable(input, options, wanted: wanted, demands: demands, session: session)
    if table.hasStrayQuotes, !statesStrayQuotes {
      options.strayQuotes = .literal
      (form, table, key) = try readTable(input, options, wanted: wanted, demands: demands, session: session)
      session.output.note(
        "\(input.file): quotes inside fields without quotes are text, as \"strayQuotes\" in the job says")
    }
    for error in table.errors { session.output.note("\(input.file): \(error)") }
    if table.badRecords > 0 {
      session.output.note(
        table.badRecords == 1
          ? "1 record can't be read and is ignored; the import will reject it"
          : "\(table.badRecords) records can't be read and are ignored; the import will reject them")
    }
    guard table.records > 0, !table.columns.isEmpty else {
      throw ToolError(.unreadableFile, "\(input.file): there are no records to learn from")
    }
    return (form, options, table, key)
  }

  private func readTable(
    _ input: Input, _ options: InputOptions, wanted: Set<String>, demands: TableDemands, session: Session
  ) throws(ToolError) -> (InputForm, TableGuess, key: [String]) {
    do {
      let descriptor = try FileDescriptor.open(input.file)
      let size = try descriptor.status().size
      let source = try RecordSource(descriptor, options)
      var demands = demands
      // Whoever refers to the entity may name an attribute instead of the column that it is made of.
      let columns = source.columnNames ?? []
      let attributes = ColumnNames.attributes(columns)
      let keys = wanted.map { name in
        columns.contains(name) ? name : attributes.firstIndex(of: name).map { columns[$0] } ?? name
      }
      if demands.key.isEmpty { demands.key = Array(Set(keys)) }
      guard keys.allSatisfy({ demands.key == [$0] }) else {
        throw ToolError(
          .usage, "\(input.entity) is referred to by \(keys.sorted().joined(separator: " and ")), which is not its key",
          hint: "an entity that others lead to has one key of one column")
      }
      let table = try TableGuess(source, demands) {
        session.output.showProgress("\(source.fileOffset * 100 / max(size, 1)) % of \(input.file)")
      }
      session.output.clearProgress()
      return (source.form, table, demands.key)
    } catch let error as ToolError {
      throw error
    } catch {
      session.output.clearProgress()
      throw ToolError(.unreadableFile, "\(input.file): \(error)")
    }
  }

  /// Checks that the columns are there, that a key tells records apart, and that references lead to something.
  private func check(_ table: TableGuess, of input: Input, key: [String], session: Session) throws(ToolError) {
    for column in key + input.references.keys.sorted() where table.index(of: column) == nil {
      let known = table.names ?? (1...table.columns.count).map { "\($0)" }
      throw ToolError(
        .usage, "\(input.file): there is no column \"\(column)\"",
        hint: "there are \(known.map { "\"\($0)\"" }.joined(separator: ", "))")
    }
    var problems: [(count: Int64, text: String)] = []
    if let found = table.key {
      let name = key.map { "\"\($0)\"" }.joined(separator: " and ")
      if found.blanks.count > 0 {
        problems.append((found.blanks.count, "\(name) has no value in \(found.blanks.text)"))
      }
      if found.repeats.count > 0 {
        problems.append((found.repeats.count, "\(name) repeats an earlier record's in \(found.repeats.text)"))
      }
    }
    for (column, lost) in table.references.sorted(by: { $0.key < $1.key }) where lost.count > 0 {
      let end = input.references[column]?.entity ?? ""
      problems.append((lost.count, "\"\(column)\" is no key of \(end) in \(lost.text)"))
    }
    let limit = Int64(tolerance / 100 * Double(table.records))
    if problems.contains(where: { $0.count > limit }) {
      throw ToolError(
        .refused, "\(input.file): " + problems.map(\.text).joined(separator: "; "),
        hint: "correct the file, choose other columns, or let the import pass over them with --tolerate")
    }
    for problem in problems { session.output.note("\(input.file): \(problem.text)") }
  }

  // MARK: Writing

  /// The largest job file that a daemon takes unless it is configured otherwise.
  private static let largestJob = 1 << 20

  /// One job, or several that come one after the other.
  private func job(of results: [InferredFile]) -> JSONValue {
    if results.count == 1 { return results[0].job }
    let entities = Set(results.map(\.model.entity))
    let jobs = results.map { result in
      var job: JSONObject = ["type": "import", "id": .string("#" + result.model.entity)]
      let others = Set(result.model.attributes.compactMap(\.reference?.entity)).intersection(entities).sorted()
      if !others.isEmpty { job["after"] = .array(others.map { .string("#" + $0) }) }
      job["arguments"] = result.job["arguments"] ?? .null
      return JSONValue.object(job)
    }
    return .object(["jobs": .array(jobs)])
  }

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

  /// - Parameter source: The bundle of which the written one is a copy with other contents.
  private func write(
    _ contents: String, in bundle: String, version: String, copying source: String?, job: String, to jobFile: String
  ) throws(ToolError) {
    let manager = FileManager.default
    for path in [bundle, jobFile] where manager.fileExists(atPath: path) {
      throw ToolError(
        .outputFailed, "\(path) exists already", hint: "remove it, or choose another --output or --entity")
    }
    do {
      let folder = "\(bundle)/\(version).xcdatamodel"
      if let source {
        try manager.createDirectory(atPath: output, withIntermediateDirectories: true)
        try manager.copyItem(atPath: source, toPath: bundle)
      }
      try manager.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try Data(contents.utf8).write(to: URL(filePath: folder + "/contents"), options: .atomic)
      try Data(job.utf8).write(to: URL(filePath: jobFile), options: .atomic)
    } catch {
      throw ToolError(.outputFailed, "\(output) can't be written to: \(error.localizedDescription)")
    }
  }
}
