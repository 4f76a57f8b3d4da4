import Foundation
import Glibc
import ObjectGraph
import PostgresTesting
import SystemSupport
import TestSupport
import Testing

@testable import StoreCopy

@Suite("A copy that is cut short", .enabled(if: PostgresCluster.isAvailable()))
struct InterruptedCopyTests {
  private struct Cut: Error {}

  /// The direction of a copy.
  enum Way: CaseIterable { case toPostgres, toSQLite }

  private let fixture: CopyFixture
  private let model: ManagedObjectModel

  init() throws {
    fixture = try CopyFixture()
    model = try Museum.model()
  }

  /// Two empty places and a store with more rows than fit into a few transactions.
  private func prepare(_ way: Way) throws -> (from: StoreAddress, to: StoreAddress) {
    let first = fixture.sqlite("first")
    try fixture.with(first, model, tracksHistory: true) { Museum.fill($0, count: 300) }
    if way == .toPostgres { return (first, fixture.postgres) }
    _ = try StoreCopy(from: first, to: fixture.postgres).run()
    return (fixture.postgres, fixture.sqlite("second"))
  }

  private func openingFails(_ address: StoreAddress) -> Bool {
    switch address {
    case .sqlite(let path): return !FileManager.default.fileExists(atPath: path)
    case .postgres:
      let error = #expect(throws: StoreError.self) { try fixture.with(address, model) { _ in } }
      return error?.message.contains("go on with it by bobbinctl store copy") == true
    }
  }

  @Test("can't be opened, goes on with the rows that are missing, and ends equal", arguments: Way.allCases)
  func everyPoint(_ way: Way) throws {
    let (from, to) = try prepare(way)
    var reports: Set<CopyReport> = []
    var cuts = 0
    while true {
      // Each time one report further than ever before.
      do {
        let tables = try StoreCopy(from: from, to: to, batchBytes: 100_000) { report in
          if reports.insert(report).inserted { throw Cut() }
        }.run()
        #expect(tables.areEqual)
        break
      } catch is Cut {
        cuts += 1
        #expect(openingFails(to))
      }
    }
    #expect(cuts > 20)
    #expect(reports.contains { $0.step == .finishing })
    #expect(try StoreComparison.run(from, to).areEqual)
    #expect(try fixture.objects(to, model) == fixture.objects(from, model))
    // No file of an earlier attempt is left.
    if case .sqlite(let path) = to {
      let folder = path.replacing(".sqlite", with: "_files")
      let names = try FileManager.default.contentsOfDirectory(atPath: folder)
      #expect(!names.isEmpty && !names.contains { $0.hasPrefix(".") })
      #expect(!FileManager.default.fileExists(atPath: path + ".copying"))
    }
  }

  @Test("by the death of its process at any moment goes on as well", arguments: Way.allCases)
  func killed(_ way: Way) async throws {
    let (from, to) = try prepare(way)
    for delay in [5, 20, 40, 60, 80, 100, 150, 200, 300] {
      let child = try ChildProcess.start(
        ChildLaunch(
          executable: try RepositoryPaths.executable("bobbinctl").path(percentEncoded: false),
          arguments: ["store", "copy", "\(from)", "\(to)"], environment: ["TZ": "UTC", "PATH": "/usr/bin:/bin"]))
      let (end, _) = try await child.termination(killingAt: .after(.milliseconds(delay)))
      // Complete, now or when it was killed before.
      if end.status != .signaled(signal: SIGKILL) { break }
    }
    do { _ = try StoreCopy(from: from, to: to).run() } catch let error as StoreError {
      // The last one was complete.
      #expect(error.message.contains("there is a store already"), "\(error)")
    }
    #expect(try StoreComparison.run(from, to).areEqual)
    #expect(try fixture.objects(to, model) == fixture.objects(from, model))
  }

  @Test("of a store that was changed meanwhile does not end", arguments: Way.allCases)
  func changed(_ way: Way) throws {
    let (from, to) = try prepare(way)
    #expect(throws: Cut.self) {
      try StoreCopy(from: from, to: to, batchBytes: 100_000) { report in
        if report.step == .comparing { throw Cut() }
      }.run()
    }
    try fixture.with(from, model) { context in
      let tag = try context.fetch(FetchRequest<ManagedObject>(entity: "Tag", nil)).first
      tag?.setValue("other", forKey: String(repeating: "long", count: 20))
    }
    let error = #expect(throws: StoreError.self) { try StoreCopy(from: from, to: to).run() }
    #expect(error?.message.contains("Tag") == true && error?.message.contains("copy anew") == true)
    #expect(openingFails(to))
  }
}
