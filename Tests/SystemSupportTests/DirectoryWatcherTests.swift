import Dispatch
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

@Suite struct DirectoryWatcherTests {
  let temporary: TemporaryDirectory
  let queue = DispatchQueue(label: "watcher-test")
  let events: AsyncStream<DirectoryEvent>
  let continuation: AsyncStream<DirectoryEvent>.Continuation

  init() throws {
    temporary = try TemporaryDirectory()
    (events, continuation) = AsyncStream.makeStream()
  }

  private func watch(_ directory: Directory) throws -> DirectoryWatcher {
    try DirectoryWatcher(directory, queue: queue) { [continuation] batch in
      for event in batch { continuation.yield(event) }
    }
  }

  /// The events up to the first one that `isLast` accepts.
  private func events(upTo isLast: @escaping @Sendable (DirectoryEvent) -> Bool) async throws -> [DirectoryEvent] {
    try await withTimeout { [events] in
      var seen: [DirectoryEvent] = []
      for await event in events {
        seen.append(event)
        if isLast(event) { break }
      }
      return seen
    }
  }

  @Test("Renaming into the directory and closing after writing are told, with any name; other things are not")
  func delivery() async throws {
    let directory = try temporary.open()
    let watcher = try watch(directory)
    defer { watcher.stop() }
    let odd = FileName(bytes: [0x0a, 0xff, 0x1b])
    try directory.makeDirectory("folder")
    try directory.createFile("written").writeAll(Data("x".utf8))
    try directory.rename("written", to: odd)
    try directory.rename("folder", to: "renamed folder")
    try directory.unlink(odd)
    _ = try directory.createFile("last")
    let seen = try await events { $0 == .entry("last") }
    #expect(seen == [.entry("written"), .entry(odd), .entry("renamed folder"), .entry("last")])
  }

  @Test("More events than the kernel keeps end in a rescan, and watching goes on")
  func overflow() async throws {
    let limitText = try String(contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8)
    let limit = try #require(Int(limitText.trimmingCharacters(in: .whitespacesAndNewlines)))
    let directory = try temporary.open()
    queue.suspend()
    let watcher = try watch(directory)
    defer { watcher.stop() }
    _ = try directory.createFile("a")
    // Equal neighbours are merged by the kernel, so the names take turns.
    for _ in 0..<(limit / 2 + 10) {
      try directory.rename("a", to: "b")
      try directory.rename("b", to: "a")
    }
    queue.resume()
    let seen = try await events { $0 == .rescan(.overflow) }
    #expect(seen.count > limit / 2)
    _ = try directory.createFile("later")
    let later = try await events { $0 == .entry("later") }
    #expect(later.last == .entry("later"))
  }

  @Test("A removed directory asks for a rescan and ends the watch")
  func removed() async throws {
    let parent = try temporary.open()
    try parent.makeDirectory("spool")
    let watcher = try watch(try Directory(path: temporary.path("spool")))
    try parent.removeDirectory("spool")
    #expect(try await events { $0 == .rescan(.watchRemoved) } == [.rescan(.watchRemoved)])
    watcher.stop()
    watcher.stop()
  }

  @Test("A moved directory asks for a rescan and is still watched")
  func moved() async throws {
    let parent = try temporary.open()
    try parent.makeDirectory("spool")
    let spool = try parent.openDirectory("spool")
    let watcher = try watch(spool)
    defer { watcher.stop() }
    try parent.rename("spool", to: "elsewhere")
    _ = try spool.createFile("f")
    #expect(try await events { $0 == .entry("f") } == [.rescan(.directoryMoved), .entry("f")])
  }

  @Test("An unmounted file system asks for a rescan", .enabled(if: SkipReason.runsAsRoot()))
  func unmounted() async throws {
    let path = temporary.path("mount")
    try temporary.open().makeDirectory("mount")
    try systemCall("mount", path) { mount("tmpfs", path, "tmpfs", 0, "size=64k") }
    let watcher = try watch(try Directory(path: path))
    defer { watcher.stop() }
    try systemCall("umount2", path) { umount2(path, 0) }
    let seen = try await events { $0 == .rescan(.watchRemoved) }
    #expect(seen == [.rescan(.unmounted), .rescan(.watchRemoved)])
  }

  @Test("After stopping on the handler's queue nothing arrives")
  func stop() async throws {
    let directory = try temporary.open()
    let stopped = try DirectoryWatcher(directory, queue: queue) { [continuation] _ in
      continuation.yield(.rescan(.overflow))
    }
    // A second watcher proves that the event has passed.
    let witness = try watch(directory)
    queue.sync { stopped.stop() }
    _ = try directory.createFile("f")
    #expect(try await events { $0 == .entry("f") } == [.entry("f")])
    stopped.stop()
    witness.stop()
  }

  @Test("Only a directory can be watched, and it is the one that was opened")
  func replacedPath() async throws {
    let parent = try temporary.open()
    try parent.makeDirectory("spool")
    let opened = try parent.openDirectory("spool")
    try parent.rename("spool", to: "moved")
    try parent.makeDirectory("spool")
    let watcher = try watch(opened)
    defer { watcher.stop() }
    _ = try parent.openDirectory("spool").createFile("wrong")
    _ = try opened.createFile("right")
    #expect(try await events { _ in true } == [.entry("right")])
  }

  @Test("A damaged record is an error, not a crash", arguments: [1, 15, 16, 20])
  func damagedRecords(length: Int) {
    // A header that promises a name of 4,096 bytes.
    var bytes = [UInt8](repeating: 0, count: 16) + Array("name".utf8)
    bytes[13] = 16
    let events = bytes.prefix(length).withUnsafeBytes { DirectorySetWatcher.parse($0).map(\.event) }
    #expect(events == [.rescan(.failed(errno: EBADMSG))])
  }
}
