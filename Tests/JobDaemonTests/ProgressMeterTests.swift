import Testing

@testable import Jobs

@Suite("Progress that is looked at")
struct ProgressMeterTests {
  private let start = ContinuousClock.now

  private func after(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

  private func bytes(_ done: Int64, of total: Int64? = 1_000) -> JobProgress {
    JobProgress(done: done, total: total, unit: "bytes")
  }

  @Test("Without progress there is no pace")
  func none() {
    var meter = ProgressMeter(isResumed: false, at: start)
    #expect(meter.look(at: after(5)) == ProgressPace())
  }

  @Test("The first look tells the mean since the beginning, and the time that the rest takes")
  func first() {
    var meter = ProgressMeter(isResumed: false, at: start)
    meter.update(bytes(100), at: after(1))
    meter.update(bytes(250), at: after(4))
    let pace = meter.look(at: after(5))
    #expect(abs((pace.ratePerSecond ?? 0) - 50) < 0.001)
    #expect(abs((pace.secondsLeft ?? 0) - 15) < 0.001)
  }

  @Test(
    "What an earlier attempt did, and the time before the count began, are no part of the rate",
    arguments: [true, false])
  func begun(isResumed: Bool) {
    var meter = ProgressMeter(isResumed: isResumed, at: start)
    let done: Int64 = isResumed ? 600 : 0
    meter.update(bytes(done), at: after(100))
    meter.update(bytes(done + 100), at: after(105))
    #expect(abs((meter.look(at: after(110)).ratePerSecond ?? 0) - 10) < 0.001)
  }

  @Test("A second pass has a rate of its own", arguments: ["bytes", "rows"])
  func passes(unit: String) {
    var meter = ProgressMeter(isResumed: false, at: start)
    meter.update(bytes(0), at: start)
    meter.update(bytes(1_000), at: after(1))
    _ = meter.look(at: after(1))
    let done: Int64 = unit == "rows" ? 2_000 : 0
    meter.update(JobProgress(done: done, total: 3_000, unit: unit), at: after(2))
    meter.update(JobProgress(done: done + 10, total: 3_000, unit: unit), at: after(3))
    #expect(abs((meter.look(at: after(4)).ratePerSecond ?? 0) - 5) < 0.001)
  }

  @Test("Whoever watches sees a job that hangs slow down until no time can be told")
  func hangs() {
    var meter = ProgressMeter(isResumed: false, at: start)
    meter.update(bytes(500), at: start)
    var rates: [Double] = []
    for second in 1...400 { rates.append(meter.look(at: after(Double(second))).ratePerSecond ?? -1) }
    #expect(zip(rates, rates.dropFirst()).allSatisfy { $0 >= $1 })
    #expect(rates[0] == 500 && rates[29] < 30)
    #expect(meter.look(at: after(401)).secondsLeft == nil)
  }

  @Test("Steps that come in bursts make a steady rate, however often somebody looks", arguments: [0.2, 1, 7])
  func bursts(period: Double) {
    var meter = ProgressMeter(isResumed: false, at: start)
    meter.update(bytes(0, of: nil), at: start)
    var rate = 0.0
    for step in 1...Int(140 / period) {
      let time = period * Double(step)
      // 400 bytes every 4 seconds.
      meter.update(bytes(400 * Int64(time / 4), of: nil), at: after(time))
      rate = meter.look(at: after(time)).ratePerSecond ?? 0
      if time > 40 { #expect((75.0...140).contains(rate), "\(rate) at \(time)") }
    }
  }

  @Test("Two looks at the same moment tell the same, and more than the total leaves nothing to wait for")
  func edges() {
    var meter = ProgressMeter(isResumed: false, at: start)
    meter.update(bytes(2_000), at: start)
    #expect(meter.look(at: start) == ProgressPace())
    let pace = meter.look(at: after(2))
    #expect(pace == ProgressPace(ratePerSecond: 1_000, secondsLeft: 0))
    #expect(meter.look(at: after(2)) == pace)
  }
}
