import Foundation
import Jobs

/// A column of a series; its raw value is its name in replies.
enum SampleColumn: String, CaseIterable, Sendable {
  // Jobs whose ends came to disk, and attempts that are followed by another.
  case completed, cancelled, discarded, quarantined, retries
  // Unfinished jobs.
  case available, scheduled, waiting, held, running, retryable
  // Milliseconds.
  case waitingP50, waitingP95, unflushedAge
  // Bytes.
  case diskFree

  /// The way in which several observations of a span become its one value.
  enum Merging { case sum, last, largest, quantile(Double) }

  var merging: Merging {
    switch self {
    case .completed, .cancelled, .discarded, .quarantined, .retries: .sum
    case .available, .scheduled, .waiting, .held, .running, .retryable, .diskFree: .last
    case .unflushedAge: .largest
    case .waitingP50: .quantile(0.5)
    case .waitingP95: .quantile(0.95)
    }
  }
}

/// The figures since the observation before.
struct Observation: Sendable {
  /// The values of all columns but quantiles.
  var values: [SampleColumn: Int64] = [:]
  /// The seconds that jobs waited for their start.
  var waiting = Histogram(Histogram.closeDurations)
}

/// The figures of equal spans of time, the last of which is not over yet: a ring of so many.
///
/// A value without clock or file. Spans in which nothing was observed are filled in as idle when the next observation
/// comes, so that nobody has to look while nothing happens.
struct SampleSeries: Sendable, Equatable {
  struct Sample: Sendable, Equatable {
    /// In seconds since 1970, a multiple of the step.
    var start: Int64
    /// By the index of the column; ``unknown`` for what is not known.
    var values: [Int64]
  }

  static let unknown: Int64 = -1

  /// The seconds of a span.
  let step: Int64
  /// The number of spans that are kept.
  let capacity: Int
  /// The last spans, ascending; those without a sample are not known, since no daemon ran.
  private(set) var samples: [Sample]
  /// The waits of the last span, as far as this run of the daemon saw them.
  private var waiting = Histogram(Histogram.closeDurations)
  /// True once this run of the daemon has observed something: what was before it is no idle time.
  private var isFollowing = false

  init(step: Int64, capacity: Int, samples: [Sample] = []) {
    self.step = step
    self.capacity = capacity
    self.samples = Array(samples.suffix(capacity))
  }

  /// Adds an observation.
  ///
  /// - Parameter time: seconds since 1970.
  mutating func add(_ observation: Observation, at time: Int64) {
    let start = time / step * step
    // The clock was set back: what lies ahead never was.
    while let last = samples.last, last.start > start { samples.removeLast() }
    if samples.last?.start != start { begin(start) }
    waiting.add(observation.waiting)
    for (index, column) in SampleColumn.allCases.enumerated() {
      let old = samples[samples.count - 1].values[index]
      let new = observation.values[column]
      let value =
        switch column.merging {
        case .sum: max(0, old) + (new ?? 0)
        case .last: new ?? old
        case .largest: max(old, new ?? old)
        // A few seconds of an earlier run don't change what the rest of the span tells.
        case .quantile(let share): waiting.quantile(share).map { Int64($0 * 1_000) } ?? old
        }
      samples[samples.count - 1].values[index] = value
    }
  }

  /// Begins a span; those since the last one were idle.
  private mutating func begin(_ start: Int64) {
    if isFollowing, let last = samples.last {
      let first = max(last.start + step, start - Int64(capacity) * step)
      for idle in stride(from: first, to: start, by: Int(step)) {
        samples.append(Sample(start: idle, values: Self.idle(after: last)))
      }
    }
    let values = samples.last.map { Self.idle(after: $0) } ?? SampleColumn.allCases.map { _ in Self.unknown }
    samples.append(Sample(start: start, values: values))
    samples = Array(samples.suffix(capacity))
    waiting = Histogram(Histogram.closeDurations)
    isFollowing = true
  }

  /// The values of a span in which nothing happens.
  private static func idle(after last: Sample) -> [Int64] {
    SampleColumn.allCases.enumerated().map { index, column in
      switch column.merging {
      case .sum: 0
      case .last: last.values[index]
      case .largest, .quantile: unknown
      }
    }
  }

  /// The values of a column from a time on, one for each span; nil for what is not known.
  ///
  /// - Parameter start: a multiple of the step.
  func values(of column: SampleColumn, from start: Int64) -> [Int64?] {
    guard let last = samples.last, last.start >= start,
      let index = SampleColumn.allCases.firstIndex(of: column)
    else { return [] }
    var values = [Int64?](repeating: nil, count: Int((last.start - start) / step) + 1)
    for sample in samples where sample.start >= start {
      let value = sample.values[index]
      values[Int((sample.start - start) / step)] = value == Self.unknown ? nil : value
    }
    return values
  }
}

/// The last hour in fine samples, and the last week in coarse ones.
struct SampleHistory: Sendable, Equatable {
  var fine = SampleSeries(step: 10, capacity: 361)
  var coarse = SampleSeries(step: 600, capacity: 1_009)

  mutating func add(_ observation: Observation, at time: Int64) {
    fine.add(observation, at: time)
    coarse.add(observation, at: time)
  }
}

/// The file that keeps samples: of one size, with a checksum.
extension SampleHistory {
  private static let mark = Array("bobsmp01".utf8)

  var data: Data {
    var bytes = Self.mark
    for series in [fine, coarse] {
      bytes.append(Int64(series.samples.count))
      for sample in series.samples {
        bytes.append(sample.start)
        for value in sample.values { bytes.append(value) }
      }
      bytes += Array(repeating: 0, count: (series.capacity - series.samples.count) * Self.sampleSize)
    }
    bytes.append(Self.checksum(bytes[...]))
    return Data(bytes)
  }

  /// Reads what ``data`` has written; nil if it is damaged, or of another release.
  init?(_ data: Data) {
    let bytes = Array(data)
    self.init()
    let size = Self.mark.count + [fine, coarse].reduce(8) { $0 + 8 + $1.capacity * Self.sampleSize }
    guard bytes.count == size, bytes.starts(with: Self.mark),
      bytes.number(at: size - 8) == Self.checksum(bytes[..<(size - 8)])
    else { return nil }
    var place = Self.mark.count
    func read(_ series: SampleSeries) -> SampleSeries? {
      let count = Int(bytes.number(at: place))
      guard (0...series.capacity).contains(count) else { return nil }
      let samples = (0..<count).map { index in
        let start = place + 8 + index * Self.sampleSize
        return SampleSeries.Sample(
          start: bytes.number(at: start),
          values: SampleColumn.allCases.indices.map { bytes.number(at: start + 8 + $0 * 8) })
      }
      place += 8 + series.capacity * Self.sampleSize
      return SampleSeries(step: series.step, capacity: series.capacity, samples: samples)
    }
    guard let fine = read(fine), let coarse = read(coarse) else { return nil }
    (self.fine, self.coarse) = (fine, coarse)
  }

  private static var sampleSize: Int { 8 * (1 + SampleColumn.allCases.count) }

  private static func checksum(_ bytes: ArraySlice<UInt8>) -> Int64 {
    var hash = StableHash()
    hash.combine(bytes)
    return Int64(bitPattern: hash.value)
  }
}

extension [UInt8] {
  fileprivate mutating func append(_ number: Int64) {
    Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
  }

  fileprivate func number(at place: Int) -> Int64 {
    (0..<8).reduce(0) { $0 | Int64(bitPattern: UInt64(self[place + $1]) << UInt64(8 * $1)) }
  }
}
