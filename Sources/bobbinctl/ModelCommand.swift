import TextSupport

/// `bobbinctl model`: makes models of data, and reads, checks and compares them; needs no daemon.
struct ModelCommand: Subcommand {
  static let name = "model"
  static let usage = """
    model infer [--output DIR] [--entity NAME] [--key COLUMN] [--reference COLUMN=ENTITY.KEY]
                                  [--tolerate SHARE] [--null WORD] [--model BUNDLE] [--json] FILE...,
           bobbinctl model check [--json] [PATH...], model show [--json] [PATH [ENTITY]],
           bobbinctl model diff [--json] OLD [NEW]
    """
  static let summary = "Make a model and an import job for data; check, show or compare models"
  static let details = """
    infer reads all of FILE (CSV, TSV, NDJSON or a JSON array, also packed with gzip or zstd) and finds the narrowest type
    that holds every value of a column: Integer 16, 32 or 64, Double, Decimal where a Double would lose digits,
    Boolean, Date, UUID, else String, and says why. Numbers such as 1.234,5 and dates such as 31.12.2026 are known, too.
    With --tolerate 5% so many values of a column may be otherwise: the import rejects their records. --key COLUMN makes a
    column the uniqueness constraint; --reference COLUMN=ENTITY.KEY makes it a relationship to an entity of --model BUNDLE
    or of another FILE. Of several FILEs, columns are written ENTITY.COLUMN.

    It writes NAME.xcdatamodeld, to be put into the daemon's models/, and NAME.json, the job file of the import. Neither
    may exist already. The form of the file is detected, unless it is stated; bobbinctl(1) explains the options.

    check tells all mistakes in models and in the migration.conf beside them, with file and line; the exit code is 1 if
    there are any. show prints entities with their properties. diff says what has changed, what migrates by itself and what
    needs a line in migration.conf; the exit code is 1 if there is a difference.

    PATH is a folder of models, an .xcdatamodeld, an .xcdatamodel or its contents file; BUNDLE.xcdatamodeld@VERSION is one
    version. Without PATH it is the daemon's models/, and "diff BUNDLE" compares its current version with the one before.
    """
  static let options = ModelInferring.options + InputStatements.options

  private let action: any ModelAction

  init(_ arguments: inout ParsedArguments) {
    let operands = Array(arguments.operands.dropFirst())
    let name = arguments.operands.first
    if name != "infer", let option = Self.options.first(where: { arguments.has($0.name) }) {
      arguments.addProblem("\(option.name) belongs to infer")
    }
    switch name {
    case "infer": action = ModelInferring(&arguments, files: operands)
    case "check": action = ModelChecking(paths: operands)
    case "show":
      if operands.count > 2 { arguments.addProblem("show takes a path and an entity: model show [PATH [ENTITY]]") }
      action = ModelShowing(path: operands.first, entity: operands.dropFirst().first)
    case "diff":
      if !(1...2).contains(operands.count) { arguments.addProblem("diff takes two models: model diff OLD [NEW]") }
      action = ModelComparing(old: operands.first ?? "", new: operands.dropFirst().first)
    default:
      arguments.addProblem("an action is missing: model infer FILE..., check, show or diff")
      action = ModelChecking(paths: [])
    }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode { try action.run(session) }
}

/// An action of `bobbinctl model`.
protocol ModelAction {
  func run(_ session: Session) throws(ToolError) -> ExitCode
}
