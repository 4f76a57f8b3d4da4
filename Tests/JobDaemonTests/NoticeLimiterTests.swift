import TestSupport
import Testing

@testable import JobDaemon

@Suite("The rate of notices")
struct NoticeLimiterTests {
  private func notice(_ number: Int, _ kind: Notice.Kind = .discarded) -> Notice {
    Notice(kind: kind, key: "\(number)", text: "", details: [:])
  }

  private func keys(_ outgoing: NoticeLimiter.Outgoing?) -> [String] {
    switch outgoing {
    case nil: []
    case .one(let notice): [notice.key]
    case .digest(let digest): digest.notices.map(\.key)
    }
  }

  @Test("So many events are told at once, and the others together when the minute is over")
  func digest() {
    var limiter = NoticeLimiter()
    #expect(keys(limiter.add(notice(1), limit: 2, at: 1_000)) == ["1"])
    #expect(keys(limiter.add(notice(2), limit: 2, at: 11_000)) == ["2"])
    #expect(limiter.dueTime(limit: 2) == nil)
    for number in 3...5 { #expect(limiter.add(notice(number), limit: 2, at: 20_000) == nil) }
    #expect(limiter.dueTime(limit: 2) == 61_000)
    #expect(limiter.next(limit: 2, at: 60_999) == nil)
    #expect(keys(limiter.next(limit: 2, at: 61_000)) == ["3", "4", "5"])
    #expect(limiter.dueTime(limit: 2) == nil)
    // The second place is free a minute after it was taken.
    #expect(limiter.add(notice(6), limit: 2, at: 70_999) == nil)
    #expect(limiter.next(limit: 2, at: 71_000) == .one(notice(6)))
  }

  @Test("A digest counts all events, and lists the first hundred")
  func large() throws {
    var limiter = NoticeLimiter()
    _ = limiter.add(notice(0), limit: 1, at: 0)
    for number in 1...150 {
      _ = limiter.add(notice(number, number.isMultiple(of: 3) ? .batch : .discarded), limit: 1, at: 1)
    }
    let outgoing = limiter.next(limit: 1, at: 60_000)
    var found: NoticeLimiter.Digest?
    if case .digest(let digest) = outgoing { found = digest }
    let digest = try #require(found)
    #expect(digest.counts == [.discarded: 100, .batch: 50])
    #expect(digest.notices.map(\.key) == (1...100).map(String.init))
    let arguments = NoticeLimiter.Outgoing.digest(digest).arguments
    #expect(arguments["text"]?.string == "150 events: 100 discarded, 50 batch")
    #expect(arguments["events"]?.array?.count == 100)
  }

  @Test("What could not be told is told before later events, and not before a minute has passed")
  func putBack() throws {
    var limiter = NoticeLimiter()
    let added = limiter.add(notice(1), limit: 5, at: 0)
    let first = try #require(added)
    limiter.putBack(first, at: 10)
    #expect(limiter.add(notice(2), limit: 5, at: 20) == nil)
    #expect(limiter.dueTime(limit: 5) == 60_010)
    #expect(keys(limiter.next(limit: 5, at: 60_010)) == ["1", "2"])
    #expect(keys(limiter.add(notice(3), limit: 5, at: 60_011)) == ["3"])
  }

  @Test("A lower limit after a reload holds from then on")
  func lowered() {
    var limiter = NoticeLimiter()
    for number in 1...5 { #expect(limiter.add(notice(number), limit: 5, at: Int64(number)) != nil) }
    #expect(limiter.add(notice(6), limit: 2, at: 10) == nil)
    #expect(limiter.dueTime(limit: 2) == 60_004)
  }

  /// What a limiter has to do, told by all that it has done.
  private struct Model {
    let limit: Int
    var told: [(time: Int64, keys: [String])] = []
    var waiting: [String] = []

    func mayTell(at now: Int64) -> Bool { told.count { $0.time > now - 60_000 } < limit }
  }

  @Test("No minute has more notices than allowed, and each event is told once, in order and in time")
  func random() {
    for seed in UInt64(1)...300 {
      var random = SeededGenerator(seed: seed)
      var limiter = NoticeLimiter()
      var model = Model(limit: Int.random(in: 1...5, using: &random))
      var now: Int64 = 0
      var arrivals: [String: Int64] = [:]
      for number in 0..<Int.random(in: 1...200, using: &random) {
        now += Int64.random(in: 0...(Bool.random(using: &random) ? 50 : 40_000), using: &random)
        // The alarms up to now come first, each at its own time.
        while let due = limiter.dueTime(limit: model.limit), due <= now {
          #expect(!model.waiting.isEmpty && model.mayTell(at: due) && !model.mayTell(at: due - 1), "seed \(seed)")
          let told = keys(limiter.next(limit: model.limit, at: due))
          #expect(told == model.waiting, "seed \(seed)")
          model.told.append((due, told))
          model.waiting = []
        }
        let key = "\(number)"
        arrivals[key] = now
        model.waiting.append(key)
        let told = keys(limiter.add(notice(number), limit: model.limit, at: now))
        #expect(told == (model.mayTell(at: now) ? model.waiting : []), "seed \(seed)")
        if !told.isEmpty {
          model.told.append((now, told))
          model.waiting = []
        }
      }
      #expect(keys(limiter.drain()) == model.waiting)
      for one in model.told {
        #expect(model.told.count { $0.time > one.time - 60_000 && $0.time <= one.time } <= model.limit, "seed \(seed)")
        #expect(one.keys.allSatisfy { one.time - (arrivals[$0] ?? .min) <= 60_000 }, "seed \(seed)")
      }
      #expect(model.told.flatMap(\.keys) + model.waiting == (0..<arrivals.count).map(String.init), "seed \(seed)")
    }
  }
}
