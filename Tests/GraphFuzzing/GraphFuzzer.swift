package import Foundation

/// Runs random programs on contexts and on a plain model of what they should do, and shortens those that differ.
package struct GraphFuzzer {
  /// A program that went otherwise than the model says.
  package struct Failure: Sendable, CustomStringConvertible {
    package let seed: UInt64
    let program: Program
    let reason: String

    /// The program as text, and what went wrong at its end.
    package var description: String { "\(program)\n// \(reason)" }
  }

  private let folder: URL
  private let stepCount: Int
  /// Whether to look at everything after each step: what is found is found earlier, and less is.
  private let looksAlways: Bool
  /// Is told each step before it is run, for programs that end the process.
  private let log: (@Sendable (String) -> Void)?

  /// - Parameters:
  ///   - folder: where stores are made, and removed again.
  ///   - stepCount: how many steps a program has.
  ///   - looksAlways: whether to look at everything after each step: what is found is found earlier, and less is.
  ///   - log: is told each step before it is run, for programs that end the process.
  package init(folder: URL, stepCount: Int = 30, looksAlways: Bool = false, log: (@Sendable (String) -> Void)? = nil) {
    self.log = log
    self.looksAlways = looksAlways
    self.folder = folder
    self.stepCount = stepCount
  }

  /// Runs the program of a seed.
  ///
  /// - Parameter isShortened: whether a failure is to be made as short as it can be.
  /// - Returns: the failure, or nil.
  package func run(seed: UInt64, isShortened: Bool = true) -> Failure? {
    var generator = Generator(seed: seed)
    var program = generator.start(seed: seed)
    do {
      let trial = try Trial(program, in: folder)
      log?("\(program)")
      for _ in 0..<stepCount {
        let step = generator.step(trial.model)
        program.steps.append(step)
        log?(program.text(step))
        try trial.run(step)
        if !looksAlways { continue }
        for step in lastLooks(program) {
          program.steps.append(step)
          try trial.run(step)
        }
      }
      for step in lastLooks(program) {
        program.steps.append(step)
        try trial.run(step)
      }
      return nil
    } catch {
      let failure = Failure(seed: seed, program: program, reason: "\(error)")
      return isShortened ? shortened(failure) : failure
    }
  }

  private func lastLooks(_ program: Program) -> [Step] {
    program.places.indices.flatMap {
      [Step(context: $0, actions: [.lookAtObjects]), Step(context: $0, actions: [.look])]
    }
  }

  /// Why a program fails; nil if it does not.
  private func reason(_ program: Program) -> String? {
    do {
      let trial = try Trial(program, in: folder)
      for step in program.steps { try trial.run(step) }
      return nil
    } catch {
      return "\(error)"
    }
  }
}

// MARK: - Shortening

extension GraphFuzzer {
  /// The failure with as few steps, actions, and parts of the model as show it (delta debugging, A. Zeller).
  private func shortened(_ failure: Failure) -> Failure {
    var best = failure
    func isFailing(_ program: Program) -> Bool {
      guard let reason = reason(program) else { return false }
      best = Failure(seed: failure.seed, program: program, reason: reason)
      return true
    }
    guard isFailing(failure.program) else {
      return Failure(seed: failure.seed, program: failure.program, reason: failure.reason + " (not repeatable)")
    }
    var before = -1
    while before != best.program.size {
      before = best.program.size
      var width = max(1, best.program.steps.count / 2)
      while width >= 1 {
        var start = 0
        while start < best.program.steps.count {
          var shorter = best.program
          shorter.steps.removeSubrange(start..<min(start + width, shorter.steps.count))
          if !isFailing(shorter) { start += width }
        }
        width /= 2
      }
      removeActions(best: { best.program }, isFailing)
      simplify(best: { best.program }, isFailing)
    }
    return best
  }

  private func removeActions(best: () -> Program, _ isFailing: (Program) -> Bool) {
    for step in best().steps.indices.reversed() {
      for action in best().steps[step].actions.indices.reversed() where best().steps[step].actions.count > 1 {
        var shorter = best()
        shorter.steps[step].actions.remove(at: action)
        _ = isFailing(shorter)
      }
    }
  }

  private func simplify(best: () -> Program, _ isFailing: (Program) -> Bool) {
    for index in best().schema.relations.indices.reversed() {
      var simpler = best()
      simpler.schema.relations.remove(at: index)
      _ = isFailing(simpler)
    }
    for entity in best().schema.entities.indices {
      for attribute in best().schema.entities[entity].attributes.indices.reversed() {
        var simpler = best()
        simpler.schema.entities[entity].attributes.remove(at: attribute)
        _ = isFailing(simpler)
      }
      if best().schema.entities[entity].parent != nil {
        var simpler = best()
        simpler.schema.entities[entity].parent = nil
        _ = isFailing(simpler)
      }
    }
    for place in best().places.indices {
      let now = best().places[place]
      var simpler = best()
      simpler.places[place] = Program.Place(
        parent: now.parent, policy: .error, mergesAutomatically: false, hasUndo: false)
      if now.mergesAutomatically || now.policy != .error || now.hasUndo || now.results != nil {
        if isFailing(simpler) { continue }
        simpler.places[place] = Program.Place(
          parent: now.parent, policy: now.policy, mergesAutomatically: now.mergesAutomatically, hasUndo: now.hasUndo)
        if now.results != nil { _ = isFailing(simpler) }
      }
    }
    while let last = best().places.indices.last, last > 0, !best().steps.contains(where: { $0.context == last }) {
      var simpler = best()
      simpler.places.removeLast()
      if !isFailing(simpler) { break }
    }
    if !best().isInMemory {
      var simpler = best()
      simpler.isInMemory = true
      _ = isFailing(simpler)
    }
  }
}

extension Program {
  fileprivate var size: Int {
    steps.reduce(0) { $0 + 1 + $1.actions.count } + schema.ends.count + places.count
      + schema.entities.reduce(0) { $0 + $1.attributes.count }
  }
}
