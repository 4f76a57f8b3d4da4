/// Figures that are measured together, and chosen by name on the command line.
protocol BenchGroup: Sendable {
  static var name: String { get }

  init(_ options: Options, _ workplace: Workplace)

  /// Measures both sides in turn.
  func run() async throws -> [Figure]
}
