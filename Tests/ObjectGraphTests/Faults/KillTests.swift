import Foundation
import Glibc
import ObjectGraph
import ObjectGraphTesting
import TestSupport
import Testing

@Suite("Killing the process in the middle of saves")
struct KillTests {
  /// How often to kill: `make test-kill` asks for more than every test run can wait for.
  private static let count = ProcessInfo.processInfo.environment["BOBBIN_KILLS"].flatMap(Int.init) ?? 10

  private let directory: TemporaryDirectory
  private var storePath: String { directory.path("killed.sqlite") }

  init() throws { directory = try TemporaryDirectory() }

  @Test(
    "SIGKILL at random statements leaves a store that opens, is whole and holds whole transactions only",
    .timeLimit(.minutes(30)))
  func randomKills() async throws {
    let seed = UInt64.random(in: 0...1_000_000)
    var random = SeededGenerator(seed: seed)
    var places: [String: Int] = [:]
    var saved: Int64 = 0
    for round in 0..<Self.count {
      let step = Int.random(in: 0..<100, using: &random)
      // Half of the kills strike where files and transactions begin and end, which is seldom by chance.
      let kinds: [FaultPoint.Step?] = [nil, nil, nil, nil, .begin, .file, .commit, .committed]
      let kind = kinds.randomElement(using: &random)??.rawValue
      let delay = Bool.random(using: &random) ? 0 : Int.random(in: 1..<4_000, using: &random)
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [
          storePath = storePath as String, seed = seed as UInt64, step = step as Int, kind = kind as String?,
          delay = delay as Int
        ] in
        let step = (number: step, kind: kind.flatMap(FaultPoint.Step.init))
        try KilledProcess(storePath: storePath, seed: seed, step: step.number, kind: step.kind, delay: delay).run()
      }
      let place = try line(KilledProcess.lastStep(storePath)) ?? "?"
      places[place + (delay == 0 ? "" : " or later"), default: 0] += 1
      saved = try check(seed: seed, atLeast: saved, "seed \(seed), kill \(round) after step \(step) + \(delay) µs")
    }
    let told = places.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    print("killed \(Self.count) times (\(told)): \(saved) saves are whole, none of those that had returned is missing")
  }

  /// Opens what is left and compares it with what whole saves leave; returns how many there are.
  private func check(seed: UInt64, atLeast known: Int64, _ comment: Comment) throws -> Int64 {
    let shell = SQLiteShell(path: storePath)
    #expect(try shell.run("PRAGMA integrity_check") == "ok", comment)
    let coordinator = PersistentStoreCoordinator(model: try KillScenario.model())
    try coordinator.open(.sqlite(at: URL(fileURLWithPath: storePath)))
    try coordinator.checkInvariants()
    let context = ManagedObjectContext(coordinator: coordinator, name: "checker")
    let saved = try context.performAndWait { context in
      let ledger = try KillScenario.numbers("Ledger", context)
      #expect(ledger == Array(1..<Int64(ledger.count + 1)), comment)
      var scenario = KillScenario(seed: seed)
      scenario.advance(to: Int64(ledger.count))
      #expect(try KillScenario.storedItems(context) == scenario.items, comment)
      let lines = ledger.flatMap { Array(repeating: $0, count: KillScenario.lineCount) }
      #expect(try KillScenario.numbers("Line", context) == lines, comment)
      return Int64(ledger.count)
    }
    try coordinator.close()
    // A save that had returned is there; one that had not may be.
    let acknowledged = try line(KilledProcess.acknowledgements(storePath)).flatMap(Int64.init) ?? 0
    #expect(saved == acknowledged || saved == acknowledged + 1, comment)
    #expect(saved >= known, comment)
    return saved
  }

  /// The last line of a file; nil if there is no such file.
  private func line(_ path: String) throws -> String? {
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").last.map(String.init)
  }
}
