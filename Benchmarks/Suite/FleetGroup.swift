import Fleet
import Foundation
import JobSchedule
import Jobs
import ObjectGraph

/// The rate at which one lead assigns jobs to many hosts, on one core and without a database, and what a waiting job
/// costs it in memory.
struct FleetGroup: BenchGroup {
  static let name = "fleet"

  private let options: Options
  private var waiting: Int { options.isQuick ? 100_000 : options.isLong ? 10_000_000 : 1_000_000 }
  private var assigned: Int { options.isQuick ? 20_000 : 200_000 }

  init(_ options: Options, _ workplace: Workplace) { self.options = options }

  func run() async throws -> [Figure] {
    var rates: [Int: [Double]] = [64: [], 1_000: []]
    var (few, loads, bytes): ([Double], [Double], [Double]) = ([], [], [])
    for pair in 0..<options.pairs {
      few.append(try measure(hosts: 1, waiting: assigned).rate)
      for hosts in [64, 1_000] {
        let figures = try measure(hosts: hosts, waiting: waiting)
        rates[hosts]?.append(figures.rate)
        if hosts != 64 { continue }
        loads.append(figures.load)
        // Memory that earlier measurements have given back is used again.
        if pair == 0 { bytes.append(figures.bytes) }
      }
    }
    return [
      Figure(
        name: "fleet.assign64", unit: "jobs/s", ours: rates[64] ?? [], peer: few, peerName: "1 host, few waiting",
        target: .atLeast(0.25)),
      Figure(
        name: "fleet.assign1000", unit: "jobs/s", ours: rates[1_000] ?? [], peer: few, peerName: "1 host, few waiting",
        target: .atLeast(0.2)),
      Figure(
        name: "fleet.load", unit: "s", ours: loads, peer: [], peerName: "", measure: .ours, target: .atMost(3)),
      Figure(
        name: "fleet.waitingJob", unit: "B", ours: bytes, peer: [], peerName: "", measure: .ours, target: .atMost(400)),
    ]
  }

  /// Has a lead take in jobs, assign some of them, and hear of their ends.
  private func measure(hosts: Int, waiting: Int) throws -> (rate: Double, load: Double, bytes: Double) {
    let members = (1...hosts).map { number in
      (number, FleetHost(root: "host\(number)", slots: 16, types: ["noop", "image"], places: ["host\(number)"]))
    }
    let state = FleetState(
      hosts: Dictionary(uniqueKeysWithValues: members), runs: [], jobs: [], known: [:], paused: [])
    let before = try Self.residentBytes()
    let clock = ContinuousClock()
    let now = Moment(steady: 1_000, wall: 1_000_000)
    var lead = Assigner(state, agingStep: 60_000, at: now)
    let load = clock.measure {
      for start in stride(from: 0, to: waiting, by: 1_000) {
        let jobs = (start..<min(start + 1_000, waiting)).map { Self.job($0) }
        lead.apply(.admitted(jobs, known: [:]), at: now)
      }
    }
    let bytes = Double(try Self.residentBytes() - before) / Double(waiting)
    var left = min(assigned, waiting)
    let time = try clock.measure {
      while left > 0 {
        let round = lead.nextRound(floor: 0, at: now)
        if round.runs.isEmpty { throw BenchError("the lead assigns nothing, with \(left) jobs left") }
        left -= round.runs.count
        lead.noteWritten(round, at: now)
        lead.apply(.ended(round.runs.map { EndedRun(run: $0, event: .succeeded) }), at: now)
      }
    }
    return (Double(min(assigned, waiting)) / (time / .seconds(1)), load / .seconds(1), bytes)
  }

  private static func job(_ number: Int) -> FleetJob {
    var specification = JobSpecification(type: number % 4 == 0 ? "image" : "noop", queue: "queue\(number % 8)")
    if number % 10 == 0 { specification.limit = JobLimit(key: "customer\(number % 1_000)", concurrent: 4) }
    let id = ManagedObjectID(key: Int64(number), entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0)
    return FleetJob(id: id, name: "job\(number)", specification: specification, created: 1_000_000)
  }

  private static func residentBytes() throws -> Int {
    let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
    guard let pages = text.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
      throw BenchError("/proc/self/statm can't be read")
    }
    return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
  }
}
