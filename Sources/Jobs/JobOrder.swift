/// The order that the jobs of one file ask of each other.
struct JobOrder {
  private let jobs: [JobSpecification]
  private var indexes: [String: Int] = [:]

  init(_ jobs: [JobSpecification]) {
    self.jobs = jobs
    for (index, job) in jobs.enumerated() {
      if let id = job.id { indexes[id] = index }
    }
  }

  /// Checks the order.
  ///
  /// - Throws: if an ID occurs twice, or jobs wait for each other in a circle.
  func check() throws(JobFileOrderError) {
    for (index, job) in jobs.enumerated() {
      if let id = job.id, indexes[id] != index {
        let last = indexes[id] ?? index
        throw JobFileOrderError(index: last, key: "id", message: "the ID \"\(id)\" occurs twice in the file")
      }
    }
    if jobs.allSatisfy({ $0.after.isEmpty && $0.afterAny.isEmpty }) { return }
    var isDone = [Bool](repeating: false, count: jobs.count)
    for start in jobs.indices where !isDone[start] { try walk(from: start, &isDone) }
  }

  /// Follows the jobs that a job waits for, depth first, without recursion: a chain may be as long as the file.
  private func walk(from start: Int, _ isDone: inout [Bool]) throws(JobFileOrderError) {
    var path: [(index: Int, left: [Int])] = [(start, successors(of: start))]
    var isOnPath: Set<Int> = [start]
    while let last = path.indices.last {
      guard let next = path[last].left.popLast() else {
        isDone[path[last].index] = true
        isOnPath.remove(path[last].index)
        path.removeLast()
        continue
      }
      if isDone[next] { continue }
      if isOnPath.contains(next) {
        let circle = path.drop { $0.index != next }.map { jobs[$0.index].id ?? "" } + [jobs[next].id ?? ""]
        throw JobFileOrderError(
          index: next, key: jobs[next].after.isEmpty ? "afterAny" : "after",
          message: "the jobs wait for each other in a circle: \(circle.joined(separator: " after "))")
      }
      path.append((next, successors(of: next)))
      isOnPath.insert(next)
    }
  }

  private func successors(of index: Int) -> [Int] {
    (jobs[index].after + jobs[index].afterAny).compactMap { indexes[$0] }
  }
}

/// An error in one job of a file, and in which of its keys.
struct JobFileOrderError: Error {
  let index: Int
  let key: String
  let message: String
}
