import Jobs
import ObjectGraph

@testable import JobSchedule

extension Schedule {
  /// What contradicts itself; empty for a sound schedule. Costs a look at everything.
  var contradictions: [String] {
    var found: [String] = []
    func expect(_ isTrue: Bool, _ words: @autoclosure () -> String) { if !isTrue { found.append(words()) } }
    var counts: [Int: [JobState: Int]] = [:]
    var running: [Int: Int] = [:]
    var unfinished: [Int: Int] = [:]
    for (slot, job) in jobs.enumerated() {
      guard let job else { continue }
      expect(slots[job.id] == slot, "slot \(slot) is not where its job is looked for")
      expect(lanes.indices.contains(Int(job.lane)), "slot \(slot) has no lane")
      for resource in lanes[Int(job.lane)].resources {
        counts[resource, default: [:]][job.state, default: 0] += 1
        if job.state == .running { running[resource, default: 0] += 1 }
        expect(
          resourceIndexes[resources[resource].name] == resource, "slot \(slot) uses the forgotten resource \(resource)")
      }
      if job.batch >= 0 && !job.state.isFinal { unfinished[Int(job.batch), default: 0] += 1 }
      expect(
        job.state != .waiting || job.blockers > 0, "slot \(slot) waits for nothing")
      let turns = lanes[Int(job.lane)].jobs.elements.filter { $0.slot == slot && $0.isCurrent(job) }
      expect(turns.isEmpty == (job.state != .available), "slot \(slot) is \(job.state) with \(turns.count) turns")
    }
    for (name, index) in resourceIndexes {
      let resource = resources[index]
      expect(
        resource.counts.filter { $0.value != 0 } == counts[index] ?? [:], "\(name) counts \(resource.counts)")
      expect(resource.running == running[index] ?? 0, "\(name) has \(resource.running) running jobs")
      expect(
        resource.jobCount == (counts[index] ?? [:]).values.reduce(0, +), "\(name) has \(resource.jobCount) jobs")
    }
    for (name, index) in batchIndexes {
      expect(batches[index].unfinished == unfinished[index] ?? 0, "the batch \(name) counts its jobs wrongly")
    }
    for (id, slot) in slots { expect(jobs[slot]?.id == id, "\(id) is not in slot \(slot)") }
    return found
  }
}
