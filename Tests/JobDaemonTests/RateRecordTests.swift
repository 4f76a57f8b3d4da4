import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import Testing

@testable import JobDaemon

@Suite("The records of starts that count for rates")
struct RateRecordTests {
  private let main: ManagedObjectContext
  private let records: RateRecords
  private let now = Date(timeIntervalSince1970: 1_795_255_200)

  init() throws {
    let coordinator = PersistentStoreCoordinator(model: BuiltInModel.own)
    try coordinator.open(.inMemory)
    main = ManagedObjectContext(coordinator: coordinator, name: "main")
    records = RateRecords(main: main)
  }

  private func note(_ names: [Resource.Name], age: TimeInterval, period: TimeInterval = 60) throws {
    try main.performAndWait { context in
      RateRecords.note(names.map { ($0, Int64(period * 1000)) }, at: now - age, in: context)
      try context.save()
    }
  }

  private func count() throws -> Int {
    try main.performAndWait { try $0.count(for: FetchRequest<RateStart>()) }
  }

  @Test("are read by name, the oldest first, on the clock of the schedule; one from a clock ahead counts from now on")
  func read() throws {
    try note([.queue("q"), .key("k")], age: 30)
    try note([.queue("q")], age: 10)
    try note([.type("t")], age: -3_600)
    let moment = Moment(steady: 1_000_000, wall: Int64((now.timeIntervalSince1970 * 1000).rounded()))
    let starts = try records.read(at: moment)
    #expect(starts == [.queue("q"): [970_000, 990_000], .key("k"): [970_000], .type("t"): [1_000_000]])
  }

  @Test("go when they do not count any more, however many they are, at every thousandth start")
  func removal() throws {
    for _ in 0..<1_200 { try note([.queue("q")], age: 90) }
    try note([.queue("q")], age: 30)
    for _ in 0..<999 { try records.noteStart(at: now) }
    #expect(try count() == 1_201)
    try records.noteStart(at: now)
    #expect(try count() == 1)
  }
}
