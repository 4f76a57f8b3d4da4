import Testing

@testable import Configuration

@Suite("Reloading a configuration")
struct ConfigurationChangesTests {
  @Test("Equal configurations have no changes")
  func noChanges() throws {
    #expect(try Configuration.parse("[Writer]\nFlushIntervalSec=0.25").changes(from: Configuration()).isEmpty)
  }

  @Test("Each changed key is told with both values, and whether it needs a restart")
  func changes() throws {
    let old = try Configuration.parse("[Workers]\nCount=2\n[Log]\nLevel=info\n")
    let new = try Configuration.parse("[Workers]\nCount=4\n[Log]\nLevel=debug\n[Writer]\nFlushIntervalSec=90\n")
    #expect(
      new.changes(from: old).map(\.description) == [
        "[Workers] Count: 2 -> 4 (needs a restart)", "[Writer] FlushIntervalSec: 250ms -> 1min 30s",
        "[Log] Level: info -> debug",
      ])
    #expect(new.changes(from: old).map(\.effect) == [.onRestart, .onReload, .onReload])
  }

  @Test("After a reload the keys that need a restart keep their old values")
  func reloaded() throws {
    let old = try Configuration.parse("[Workers]\nCount=2\n[Store]\nExternalDataThreshold=1M\n")
    let new = try Configuration.parse("[Workers]\nCount=4\n[Log]\nLevel=debug\n")
    let effective = new.reloaded(over: old)
    #expect(effective.workers.count == 2)
    #expect(effective.store.externalDataThreshold == 1 << 20)
    #expect(effective.log.level == .debug)
    #expect(effective.changes(from: old).allSatisfy { $0.effect == .onReload })
  }
}
