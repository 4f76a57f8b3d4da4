/// Runs random programs on a fleet, and shortens those that break a promise.
package struct FleetFuzzer {
  /// A program that broke a promise.
  package struct Failure: Sendable, CustomStringConvertible {
    package let program: FleetProgram
    let time: Int64
    let reason: String

    /// The program as text, and what went wrong.
    package var description: String { "\(program)\n// at \(time) ms: \(reason)" }
  }

  package init() {}

  /// Runs the program of a seed.
  ///
  /// - Returns: the failure, as short as it can be, or nil.
  package func run(seed: UInt64, isCalm: Bool? = nil, mixesPoolers: Bool = true) -> Failure? {
    failure(of: FleetProgram(seed: seed, isCalm: isCalm, mixesPoolers: mixesPoolers)).map(shortened)
  }

  /// Runs a program that is too large to be shortened.
  package func run(_ program: FleetProgram) -> Failure? { failure(of: program) }

  private func failure(of program: FleetProgram) -> Failure? {
    do {
      try FleetWorld(program).run()
      return nil
    } catch let violation as Violation {
      return Failure(program: program, time: violation.time, reason: violation.description)
    } catch {
      return Failure(program: program, time: 0, reason: "\(error)")
    }
  }

  /// The failure with as few steps and jobs as show it.
  private func shortened(_ failure: Failure) -> Failure {
    var best = failure
    func isFailing(_ program: FleetProgram) -> Bool {
      guard let shorter = self.failure(of: program) else { return false }
      best = shorter
      return true
    }
    var size = -1
    while size != best.program.size {
      size = best.program.size
      for index in best.program.steps.indices.reversed() {
        var shorter = best.program
        shorter.steps.remove(at: index)
        _ = isFailing(shorter)
      }
      for index in best.program.steps.indices {
        guard case .submit(let machine, let jobs) = best.program.steps[index].action else { continue }
        for job in jobs.indices.reversed() where jobs.count > 1 {
          guard case .submit(_, var left) = best.program.steps[index].action, left.indices.contains(job) else {
            continue
          }
          left.remove(at: job)
          var shorter = best.program
          shorter.steps[index] = FleetProgram.Step(
            time: shorter.steps[index].time, action: .submit(machine: machine, left))
          _ = isFailing(shorter)
        }
      }
      for machine in best.program.pooledMachines {
        var simpler = best.program
        simpler.pooledMachines.remove(machine)
        _ = isFailing(simpler)
      }
      if best.program.machines > 2 {
        var shorter = best.program
        shorter.machines = 2
        shorter.pooledMachines.remove(2)
        if !shorter.steps.contains(where: { $0.action.machine == 2 }) { _ = isFailing(shorter) }
      }
    }
    return best
  }
}

extension FleetProgram {
  fileprivate var size: Int { steps.count + jobs.count + machines + pooledMachines.count }
}

extension FleetProgram.Action {
  /// The machine to which it happens, if it happens to a certain one.
  fileprivate var machine: Int? {
    switch self {
    case .submit(let machine, _), .order(let machine, _), .kill(let machine, _), .stop(let machine, _),
      .cut(let machine, _), .disturb(let machine, _, _, _):
      machine
    case .killLead, .outage, .failover, .deafness, .foreignTransaction, .remove, .compare: nil
    }
  }
}
