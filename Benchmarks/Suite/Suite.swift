import Foundation

/// Runs the groups of figures, one after the other.
struct Suite {
  private let options: Options
  private let workplace: Workplace

  private static let groups: [any BenchGroup.Type] = [
    ImportGroup.self, InsertGroup.self, BatchInsertGroup.self, FetchGroup.self, UpdateGroup.self, SharingGroup.self,
    LatencyGroup.self, MemoryGroup.self, OccupationGroup.self, ImageGroup.self, SpoolGroup.self, PostGroup.self,
    StatusGroup.self, EventsGroup.self, ReactionGroup.self, RestartGroup.self, BacklogGroup.self, FleetGroup.self,
    PostgresGroup.self, FleetJobsGroup.self, FleetDepthGroup.self, FleetPickUpGroup.self,
    FleetOutageGroup.self, LifeGroup.self, IdleGroup.self,
  ]
  static let groupNames = groups.map { $0.name }

  init(_ options: Options) throws {
    self.options = options
    workplace = try Workplace()
  }

  /// Runs the groups, and tells and keeps the figures of each when it has ended: a pair of all takes 25 minutes.
  ///
  /// - Parameter path: the file of the figures so far.
  func run(writingTo path: String) async throws -> Report {
    var report = Report(figures: [], options: options)
    for group in Self.groups where options.includes(group.name) {
      let figures = try await group.init(options, workplace).run()
      FileHandle.standardError.write(Data((Report(figures: figures, options: options).table + "\n\n").utf8))
      report.figures += figures
      try report.write(to: path)
    }
    return report
  }
}
