/// Runs the groups of figures, one after the other.
struct Suite {
  private let options: Options
  private let workplace: Workplace

  static let groupNames = ["import", "insert", "occupation", "spool"]

  init(_ options: Options) throws {
    self.options = options
    workplace = try Workplace()
  }

  func run() async throws -> Report {
    var figures: [Figure] = []
    if options.includes("import") { figures += try await ImportGroup(options, workplace).run() }
    if options.includes("insert") { figures += try await InsertGroup(options, workplace).run() }
    if options.includes("occupation") { figures += try await OccupationGroup(options, workplace).run() }
    if options.includes("spool") { figures += try await SpoolGroup(options, workplace).run() }
    return Report(figures: figures, options: options)
  }
}
