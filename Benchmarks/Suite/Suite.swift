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

  func run() async throws -> Report {
    var figures: [Figure] = []
    for group in Self.groups where options.includes(group.name) {
      figures += try await group.init(options, workplace).run()
    }
    return Report(figures: figures, options: options)
  }
}
