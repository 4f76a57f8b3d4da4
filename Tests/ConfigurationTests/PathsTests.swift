import Testing

@testable import Configuration

@Suite("Paths")
struct PathsTests {
  @Test("The service uses the system's folders")
  func system() {
    #expect(Paths.system.spoolNew == "/var/spool/bobbin/new")
    #expect(Paths.system.store == "/var/lib/bobbin/bobbin.sqlite")
    #expect(Paths.system.socket == "/run/bobbin.sock")
    #expect(Paths.system.configurationFile == "/etc/bobbin/bobbin.conf")
  }

  @Test("A root has everything below it", arguments: ["/tmp/x", "/tmp/x/", "/tmp/x//"])
  func root(_ root: String) {
    let paths = Paths(root: root)
    #expect(
      [
        paths.spoolTemporary, paths.spoolNew, paths.spoolCurrent, paths.spoolFailed, paths.payload, paths.store,
        paths.socket, paths.configurationFile, paths.configurationDropIns, paths.handlers, paths.schedules,
        paths.models,
      ] == [
        "/tmp/x/spool/tmp", "/tmp/x/spool/new", "/tmp/x/spool/cur", "/tmp/x/spool/failed", "/tmp/x/spool/payload",
        "/tmp/x/state/bobbin.sqlite", "/tmp/x/run/bobbin.sock", "/tmp/x/etc/bobbin.conf", "/tmp/x/etc/bobbin.conf.d",
        "/tmp/x/etc/handlers.d", "/tmp/x/etc/schedules.d", "/tmp/x/etc/models",
      ])
    #expect(Paths(root: "/").store == "/state/bobbin.sqlite")
    var configuration = Configuration()
    #expect(paths.placed(by: configuration) == paths)
    configuration.store.path = "/data/bobbin"
    let placed = paths.placed(by: configuration)
    #expect(
      [placed.store, placed.defaultState, placed.storePlace, placed.hotFolderMemories]
        == ["/data/bobbin/bobbin.sqlite", "/tmp/x/state", "/tmp/x/state/store-place", "/data/bobbin/folders"])
  }
}
