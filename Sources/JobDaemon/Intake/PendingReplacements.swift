import JobSchedule
import Jobs
import ObjectGraph
import Synchronization

/// The replacements of a file, which are made together.
final class FileReplacement: Sendable {
  private struct State {
    /// The places of those of whose jobs something has to end first.
    var unready: Set<Int>
    /// The jobs that are held, and whether they stay so.
    var staysHeld: [ManagedObjectID: Bool] = [:]
  }

  let file: AdmittedFile
  /// Those of the file, each behind those whose jobs it names; callbacks last.
  let replacements: [Replacement]
  private let state: Mutex<State>

  init(_ file: AdmittedFile) {
    self.file = file
    replacements = Self.ordered(file.replacements)
    state = Mutex(State(unready: Set(replacements.indices)))
  }

  /// Those of whose jobs something has to end first, as far as is known.
  var unready: [Replacement] { state.withLock { $0.unready }.sorted().map { replacements[$0] } }

  /// Notes which replacements are ready.
  func note(unready: [Replacement]) {
    let jobs = Set(unready.map(\.job))
    let places = replacements.indices.filter { jobs.contains(replacements[$0].job) }
    state.withLock { $0.unready = Set(places) }
  }

  /// True if a job is held when the replacement is made, as an operator wants; nil if that is not known yet.
  func staysHeld(_ id: ManagedObjectID) -> Bool? { state.withLock { $0.staysHeld[id] } }

  func note(_ id: ManagedObjectID, staysHeld: Bool) { state.withLock { $0.staysHeld[id] = staysHeld } }

  /// Sorts replacements, whose jobs don't wait for each other in circles, topologically.
  static func ordered(_ replacements: [Replacement]) -> [Replacement] {
    let callbacks = replacements.filter { $0.specification.afterBatch != nil }
    let members = replacements.filter { $0.specification.afterBatch == nil }
    let places = Dictionary(members.enumerated().map { ($1.specification.id ?? "", $0) }) { first, _ in first }
    var dependents = [[Int]](repeating: [], count: members.count)
    var missing = [Int](repeating: 0, count: members.count)
    for (place, member) in members.enumerated() {
      for name in member.specification.after + member.specification.afterAny {
        guard let other = places[name] else { continue }
        dependents[other].append(place)
        missing[place] += 1
      }
    }
    var order = members.indices.filter { missing[$0] == 0 }
    var next = 0
    while next < order.count {
      for place in dependents[order[next]] {
        missing[place] -= 1
        if missing[place] == 0 { order.append(place) }
      }
      next += 1
    }
    return order.map { members[$0] } + callbacks
  }
}

/// The files whose replacements are not made yet, by job, in the order in which they came.
final class PendingReplacements: Sendable {
  private let queues = Mutex<[ManagedObjectID: [FileReplacement]]>([:])

  func add(_ file: FileReplacement) {
    queues.withLock { queues in
      for replacement in file.replacements { queues[replacement.job, default: []].append(file) }
    }
  }

  func contains(_ id: ManagedObjectID) -> Bool { queues.withLock { $0[id] != nil } }

  /// True if replacements of a file are not made yet.
  func contains(_ file: LiveFile) -> Bool {
    queues.withLock { queues in queues.values.contains { files in files.contains { $0.file.file === file } } }
  }

  /// The jobs that are to be replaced.
  var jobs: Set<ManagedObjectID> { queues.withLock { Set($0.keys) } }

  /// The files that have to do with some jobs, each once, as far as their turn has come.
  func next(among ids: some Sequence<ManagedObjectID>) -> [FileReplacement] {
    queues.withLock { queues in
      if queues.isEmpty { return [] }
      var seen: Set<ObjectIdentifier> = []
      return ids.compactMap { queues[$0]?.first }.filter { file in
        let isFirst = file.replacements.allSatisfy { queues[$0.job]?.first === file }
        return isFirst && seen.insert(ObjectIdentifier(file)).inserted
      }
    }
  }

  /// Removes a file whose turn it was.
  func remove(_ file: FileReplacement) {
    queues.withLock { queues in
      for replacement in file.replacements {
        queues[replacement.job]?.removeAll { $0 === file }
        if queues[replacement.job]?.isEmpty == true { queues[replacement.job] = nil }
      }
    }
  }
}
