import ControlClient
import Foundation
import JSONText
import StatusReplies
import SystemSupport
import TextSupport

/// `bobbinctl import`: makes jobs of the type import for files of records, and submits them.
struct ImportCommand: Subcommand {
  static let name = "import"
  static let usage = "import [OPTION...] --entity ENTITY [--key ATTRIBUTE] FILE..."
  static let summary = "Import files of records: submit a job of the type import for each"
  static let details = """
    With --key, a record whose key an object has updates that object (--mode update); without it each record is inserted.
    Several files are a batch; where they have a key they are imported one after the other in the order given, as later
    records win, and what is behind a file that fails is cancelled. FILE may be a pattern in quotes, or - for standard
    input, which needs --wait. How a file is written is found out, unless it is stated.

    If the daemon knows no such entity, it offers to make a model of the first file on a terminal, and tells the command
    elsewhere. Options are those of Documentation/Import.md under the same names, --trial is its "dryRun". What jobs
    could not read is told at once; one file alone that you can read is sent along then. --wait, --dry-run and the exit codes are those of "submit".
    """

  private static let forms: [String: ArgumentOption.Form] = [
    "--separator": .character, "--quote": .character, "--skip-lines": .number, "--header": .yesOrNo,
  ]

  /// Arguments of the job, with those that tell how its input is written.
  static let keys =
    [
      ArgumentOption(Option("--entity", .required("ENTITY"), help: "What the records become")),
      ArgumentOption(
        Option("--key", .required("ATTRIBUTE"), help: "What tells objects apart; may be repeated", isRepeatable: true),
        .list),
      ArgumentOption(
        Option(
          "--mode", .required("insert|skip|update|mirror|replaceAll"),
          help: "What becomes of objects that are there (default: update with --key, else insert)")),
      ArgumentOption(
        Option("--max-rejects", .required("N"), help: "How many records may be bad, as 10 or 5%"), .number),
      ArgumentOption(
        Option("--max-deletes", .required("N"), help: "How many objects mirror may delete, as 10 or 5%"), .number),
      ArgumentOption(Option("--atomic", .none, help: "Import all in one transaction"), .flag),
      ArgumentOption(
        Option("--trial", .none, help: "Write nothing, and report what would be done"), .flag, key: "dryRun"),
    ] + InputStatements.options.map { ArgumentOption(described($0), forms[$0.name] ?? .text) }

  /// An option of inputs with its default for imports, which are stricter than guesses.
  private static func described(_ option: Option) -> Option {
    guard option.name == "--ragged-rows" else { return option }
    return Option(option.name, option.value, help: "error, pad, truncate or fit (default: error)")
  }

  static let options =
    keys.map(\.option) + [
      Option(
        "--column", .required("NAME=ATTRIBUTE"),
        help: "The attribute of a column; may be repeated, other columns are left out then", isRepeatable: true)
    ] + MadeJobs.options

  private let files: [String]
  private let entity: String?
  private let arguments: JSONObject
  /// The options that the inference of a model has as well, as they are given.
  private let inference: [String]
  private let jobs: MadeJobs

  init(_ arguments: inout ParsedArguments) {
    files = arguments.operands
    entity = arguments["--entity"]
    jobs = MadeJobs(&arguments)
    inference = ModelCommand.options.flatMap { option in arguments.all(option.name).map { "\(option.name)=\($0)" } }
    var values = Self.keys.values(in: arguments)
    if values["key"] != nil, values["mode"] == nil { values["mode"] = "update" }
    self.arguments =
      Self.columns(&arguments).map { columns in
        values["columns"] = .object(columns)
        return values
      } ?? values
    if files.isEmpty || files.contains("") { arguments.addProblem("a file is missing: \(Self.usage)") }
    if files.contains("-") {
      if files.count > 1 { arguments.addProblem("standard input is imported alone") }
      jobs.checkStandardInput(&arguments)
    }
    _ = InputStatements.read(&arguments)
  }

  private static func columns(_ arguments: inout ParsedArguments) -> JSONObject? {
    let texts = arguments.all("--column")
    if texts.isEmpty { return nil }
    var columns = JSONObject()
    for text in texts {
      guard let end = text.lastIndex(of: "="), end != text.startIndex, text.index(after: end) != text.endIndex else {
        arguments.addProblem("--column takes a column's name and an attribute, as \"Full Name=name\", not \"\(text)\"")
        continue
      }
      columns[String(text[..<end])] = .string(String(text[text.index(after: end)...]))
    }
    return columns
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    let files = files == ["-"] ? [] : try InputFiles.expand(files)
    if !jobs.isDryRun {
      try checkEntity(files.first, session)
      if files.count == 1, let file = files.first, let obstacle = try JobAccess.obstacle(before: file, session),
        (try? FileDescriptor.open(file)) != nil
      {
        session.output.note("jobs can't read \(file), so it is sent along: \(obstacle)")
        let name = SentInputs.name(of: file)
        return try submit(["upload:\(name)"], sending: [(name, file)], session)
      }
      try JobAccess.checkInputs(files, session)
    } else if entity == nil {
      throw ToolError(.usage, "--entity is missing: \(Self.usage)")
    }
    if files.isEmpty {
      return try KeptInput.use(session) { (path) throws(ToolError) in try submit([path], session) }
    }
    return try submit(files, session)
  }

  private func submit(
    _ files: [String], sending inputs: [(name: String, file: String)] = [], _ session: Session
  ) throws(ToolError) -> ExitCode {
    let mode = arguments["mode"]?.string
    if files.count > 1, mode == "mirror" || mode == "replaceAll" {
      throw ToolError(
        .usage, "with --mode \(mode ?? ""), each file would delete what those before it have brought",
        hint: "put them into one file, or name one")
    }
    // What a later file says of an object has to come later.
    let isOrdered = files.count > 1 && arguments["mode"] != nil && mode != "insert"
    let made = files.enumerated().map { index, file in
      var job: JSONObject = ["type": "import"]
      if isOrdered { job["id"] = .string("#\(index + 1)") }
      if isOrdered, index > 0 { job["after"] = .string("#\(index)") }
      var all: JSONObject = ["input": .string(file)]
      for (key, value) in arguments { all[key] = value }
      job["arguments"] = .object(all)
      return job
    }
    return try jobs.submit(made, areTogether: isOrdered, named: Self.name, sending: inputs, session)
  }

  // MARK: The entity

  /// Looks whether the daemon knows the entity.
  ///
  /// - Throws: if it does not, with what to do about it.
  private func checkEntity(_ file: String?, _ session: Session) throws(ToolError) {
    let reply = try Reply.received(from: session.client, "GET", ControlClient.path("v1", "entities"))
    // An older daemon checks it with the job.
    guard entity == nil || reply.status == 200 else { return }
    let known = try reply.accepted(refusal: .unavailable).decoded(as: EntitiesReply.self).entities.map(\.name)
    let list = known.isEmpty ? "the daemon knows none" : "there are \(known.joined(separator: ", "))"
    guard let entity else { throw ToolError(.usage, "--entity is missing; \(list)", hint: Self.usage) }
    if known.contains(entity) { return }
    let missing = "there is no entity \"\(entity)\" to import into; \(list)"
    if let nearest = NearestName.find(entity, in: known) {
      throw ToolError(.refused, missing, hint: "do you mean \"\(nearest)\"?")
    }
    try ModelOffer(entity: entity, file: file, options: inference, models: session.paths?.models)
      .make(because: missing, session)
  }
}
