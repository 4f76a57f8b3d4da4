import Jobs
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
    #expect(ring.event(3_001).subject?.id == "3001" && ring.event(5_000).subject?.id == "5000")
    for _ in 0..<3 { ring.append(event("large", size: 1 << 20)) }
    #expect(ring.has(from: 5_002) && !ring.has(from: 5_001))
    ring.forget()
    #expect(ring.has(from: ring.next) && !ring.has(from: ring.next - 1))
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
