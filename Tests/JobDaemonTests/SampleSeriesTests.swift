import Foundation
import Testing

@testable import JobDaemon

@Suite("Samples for plots")
struct SampleSeriesTests {
  private func observation(completed: Int64 = 0, running: Int64 = 0, waits: [Double] = []) -> Observation {
    var observation = Observation(values: [.completed: completed, .running: running])
    for wait in waits { observation.waiting.add(wait) }
    return observation
  }

  @Test("Observations of a span are one sample, and spans without any are idle ones with the jobs that there were")
  func idleSpans() {
    var series = SampleSeries(step: 10, capacity: 20)
    series.add(observation(completed: 2, running: 1, waits: [0.1, 4]), at: 1_001)
    series.add(observation(completed: 3, running: 2, waits: [0.1, 0.1]), at: 1_009)
    series.add(observation(completed: 1), at: 1_035)
    #expect(series.values(of: .completed, from: 1_000) == [5, 0, 0, 1])
    #expect(series.values(of: .running, from: 1_000) == [2, 2, 2, 0])
    #expect(series.values(of: .waitingP50, from: 1_010) == [nil, nil, nil])
    let (half, most) = (series.values(of: .waitingP50, from: 1_000)[0], series.values(of: .waitingP95, from: 1_000)[0])
    #expect((100...125).contains(half ?? 0) && (4_000...5_000).contains(most ?? 0))
    #expect(series.values(of: .completed, from: 1_020) == [0, 1])
  }

  @Test("A ring keeps the last spans, also after a longer rest, and drops what a clock that is set back makes future")
  func ring() {
    var series = SampleSeries(step: 10, capacity: 3)
    for time in stride(from: Int64(0), to: 100, by: 10) { series.add(observation(completed: time), at: time) }
    #expect(series.samples.map(\.start) == [70, 80, 90])
    series.add(observation(completed: 7), at: 1_000_000_000)
    #expect(series.samples.count == 3 && series.values(of: .completed, from: 999_999_980) == [0, 0, 7])
    series.add(observation(completed: 8), at: 50)
    #expect(series.samples.map(\.start) == [50])
  }

  @Test("The file has one size, is read again, and leaves out what no daemon saw; a damaged one is not read")
  func file() throws {
    var history = SampleHistory()
    let size = history.data.count
    history.add(observation(completed: 4), at: 6_000)
    history.add(observation(completed: 5), at: 6_010)
    let data = history.data
    #expect(data.count == size)
    var read = try #require(SampleHistory(data))
    #expect(read.fine.samples == history.fine.samples && read.coarse.samples == history.coarse.samples)
    read.add(observation(completed: 6), at: 6_040)
    #expect(read.fine.values(of: .completed, from: 6_000) == [4, 5, nil, nil, 6])
    #expect(read.coarse.values(of: .completed, from: 6_000) == [15])
    for place in [0, 9, 500, data.count - 1] {
      var damaged = data
      damaged[place] ^= 1
      #expect(SampleHistory(damaged) == nil)
    }
    #expect(SampleHistory(data.dropLast()) == nil)
  }
}
