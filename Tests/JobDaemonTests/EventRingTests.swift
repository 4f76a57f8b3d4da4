import Foundation
import HTTPService
import Jobs
import Synchronization
import Testing

@testable import JobDaemon

@Suite("Events for those who follow jobs")
struct EventRingTests {
  private func event(_ id: String, _ state: JobState = .completed, queue: String = "default", size: Int = 2)
    -> StatusEvent
  {
    StatusEvent(
      kind: .job, data: Array(repeating: 0x20, count: size),
      subject: .init(id: id, type: "noop", queue: queue, batch: nil, state: state))
  }

  @Test("The ring keeps the last events, by number and by size, and knows which are gone")
  func ring() {
    var ring = EventRing()
    for number in 1...5_000 { ring.append(event("\(number)")) }
    #expect(ring.next == 5_001 && ring.has(from: 5_001) && ring.has(from: 3_001))
    #expect(!ring.has(from: 3_000) && !ring.has(from: 5_002))
    #expect(ring.entry(3_001).subject?.id == "3001" && ring.entry(5_000).subject?.id == "5000")
    let text = String(decoding: ring.entry(5_000).text, as: UTF8.self)
    #expect(text == "id: \(ring.epoch)-5000\nevent: job\ndata:   \n\n", "\(text)")
    for _ in 0..<3 { ring.append(event("large", size: 1_000_000)) }
    #expect(ring.has(from: 5_002) && !ring.has(from: 5_001))
    ring.forget()
    #expect(ring.has(from: ring.next) && !ring.has(from: ring.next - 1))
  }

  /// What a reader has for its client until it waits or ends, and which of both it does.
  private func read(_ reader: EventReader) -> (text: String, last: HTTPBodyPart) {
    var text = ""
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4_096, alignment: 1)
    defer { buffer.deallocate() }
    while true {
      let part = reader.read(into: buffer)
      guard case .bytes(let count) = part else { return (text, part) }
      text += String(decoding: buffer.prefix(count), as: UTF8.self)
    }
  }

  @Test("A reader that the ring has overtaken is sent what it has begun and then the end, and told to read anew later")
  func overtaken() async throws {
    let fixture = try DaemonFixture()
    try fixture.start()
    let feed = EventFeed(fixture.daemon)
    let follower = feed.reader(EventFilter(), after: nil)
    feed.add(follower)
    let id = try #require(read(follower).text.firstMatch(of: /id: (\S+)/)).1
    let slow = feed.reader(EventFilter(), after: String(id))
    // It has taken a part of its first event.
    let part = UnsafeMutableRawBufferPointer.allocate(byteCount: 30, alignment: 1)
    defer { part.deallocate() }
    #expect(slow.read(into: part) == .bytes(30))
    // More events than the ring keeps.
    feed.tell((0..<2_100).map { event("\($0)") })
    let (rest, last) = read(slow)
    #expect(last == .end && rest.hasSuffix("\n\n") && !rest.contains("event: job"))
    let again = read(feed.reader(EventFilter(), after: String(id)))
    #expect(again.last == .nothingYet && again.text.contains("event: reset") && again.text.contains("too-old"))
    feed.remove(follower)
    try await fixture.stop()
  }

  @Test("A right to read is asked for as often as it was told, and its loss ends the stream")
  func rights() async throws {
    let fixture = try DaemonFixture()
    try fixture.start()
    let feed = EventFeed(fixture.daemon)
    for (interval, asked) in [(Duration.zero, 4), (.seconds(3_600), 1)] {
      let questions = Mutex(0)
      let mayRead = Mutex(true)
      let reader = feed.reader(EventFilter(), after: nil, checkingEvery: interval) {
        questions.withLock { $0 += 1 }
        return mayRead.withLock { $0 }
      }
      for _ in 0..<2 { #expect(read(reader).last == .nothingYet) }
      #expect(questions.withLock { $0 } <= asked && questions.withLock { $0 } >= min(asked, 3))
      mayRead.withLock { $0 = false }
      reader.beat()
      #expect(read(reader).last == .end)
    }
    try await fixture.stop()
  }

  @Test(
    "A filter tells what it is about, that a job has left its states, and spares one job's reader the others' haste")
  func filters() {
    #expect(EventFilter().kind(of: event("a")) == .job)
    #expect(EventFilter(id: "a").kind(of: event("a")) == .job && EventFilter(id: "a").kind(of: event("b")) == nil)
    #expect(EventFilter(queue: "films").kind(of: event("a")) == nil)
    #expect(EventFilter(queue: "films").kind(of: event("a", queue: "films")) == .job)
    #expect(
      EventFilter(batch: "x").kind(of: event("a")) == nil && EventFilter(type: "noop").kind(of: event("a")) == .job)
    #expect(EventFilter(states: [.running]).kind(of: event("a", .running)) == .job)
    #expect(EventFilter(states: [.running]).kind(of: event("a", .completed)) == .removed)
    #expect(EventFilter(states: [.running], type: "ocr").kind(of: event("a", .completed)) == nil)
    let reset = StatusEvent(kind: .reset, data: [])
    #expect(EventFilter(queue: "films").kind(of: reset) == .reset && EventFilter(id: "a").kind(of: reset) == nil)
  }
}

extension EventFilter {
  fileprivate func kind(of event: StatusEvent) -> StatusEvent.Kind? { kind(of: event.kind, about: event.subject) }
}
