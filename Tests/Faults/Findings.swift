import DaemonTesting
import Foundation
import SystemSupport

/// What jobs have left in the store and in `payload/`.
struct Findings {
  struct Job {
    let state: String
    let count: Int
    let started: Double?
    let finished: Double?
    let priority: Int?
  }

  /// By their IDs, or by the names of files that give none: a file that was taken twice is there twice.
  private(set) var jobs: [String: Job] = [:]
  /// Of each job's rows: how many there are, and how many that differ.
  private var rows: [String: (count: Int, distinct: Int)] = [:]
  private var images: [String: Int] = [:]
  private var blobCount = 0
  private let payload: String
  /// What is wrong whatever was submitted.
  private(set) var problems: [Problem] = []

  init(_ root: DaemonRoot) async throws {
    payload = root.paths.payload
    let text = try await root.sql(
      """
      SELECT 'job', iif(file LIKE '%\(Workload.unnamed).json', replace(file, '.json', ''), id), state, count(*),
        max(startedAt), max(finishedAt), max(priority) FROM Job GROUP BY 2;
      SELECT 'rows', job, count(*), count(DISTINCT number) FROM Reading GROUP BY job;
      SELECT 'image', title, count(*) FROM Image GROUP BY title;
      SELECT 'blobs', count(*) FROM ImageBlob;
      SELECT 'check', * FROM pragma_integrity_check();
      """)
    for line in text.split(separator: "\n") {
      let fields = line.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
      switch (fields[0], fields.count) {
      case ("job", 7):
        jobs[fields[1]] = Job(
          state: fields[2], count: Int(fields[3]) ?? 0, started: Double(fields[4]), finished: Double(fields[5]),
          priority: Int(fields[6]))
      case ("rows", 4): rows[fields[1]] = (Int(fields[2]) ?? 0, Int(fields[3]) ?? 0)
      case ("image", 3): images[fields[1]] = Int(fields[2])
      case ("blobs", 2): blobCount = Int(fields[1]) ?? 0
      case ("check", _): if fields[1] != "ok" { note(.other, "integrity_check: \(line)") }
      default: note(.other, "what is this: \(line)")
      }
    }
    let imageCount = images.values.reduce(0, +)
    if blobCount != imageCount { note(.other, "\(imageCount) images have \(blobCount) blobs") }
    // Half written files have such names.
    for name in try Directory(path: payload).entries() where name.isHidden { note(.other, "\(name) was left behind") }
  }

  private mutating func note(_ kind: Problem.Kind, _ text: String) {
    problems.append(Problem(kind: kind, description: text))
  }

  /// Compares what a job has left with what it must leave.
  func problems(with expected: ExpectedJob) -> [Problem] {
    guard let job = jobs[expected.id] else {
      return [Problem(kind: .loss, description: "\(expected.id) is not in the store")]
    }
    var problems: [Problem] = []
    func note(_ kind: Problem.Kind, _ text: String) {
      problems.append(Problem(kind: kind, description: "\(expected.id) (\(job.state)): \(text)"))
    }
    if job.count > expected.copies { note(.repetition, "it is there \(job.count) times, not \(expected.copies)") }
    if !expected.outcomes.contains(job.state) {
      let isOver = ["completed", "cancelled", "discarded", "quarantined"].contains(job.state)
      note(isOver ? .other : .loss, "it should be \(expected.outcomes.sorted().joined(separator: " or "))")
    }
    if let priority = job.priority, !expected.priorities.contains(priority) {
      note(.other, "its priority is \(priority), not \(expected.priorities.sorted())")
    }
    let isDone = job.state == "completed"
    let wanted = isDone ? expected.rows : job.state == "quarantined" ? expected.checkpointRows : 0
    let (count, distinct) = rows[expected.id] ?? (0, 0)
    if count < wanted { note(.loss, "\(count) of \(wanted) rows") }
    if count > wanted || distinct != count { note(.repetition, "\(count) rows, \(distinct) distinct, not \(wanted)") }
    let kept = images[expected.id] ?? 0
    let wantedImages = isDone && expected.isKept ? 1 : 0
    if kept != wantedImages { note(kept < wantedImages ? .loss : .repetition, "\(kept) images, not \(wantedImages)") }
    if isDone {
      for name in expected.pictures where (try? TestPicture.isWholePNG(payload + "/" + name)) != true {
        note(.loss, "\(name) is missing or not whole")
      }
    }
    return problems + orderProblems(expected, job)
  }

  private func orderProblems(_ expected: ExpectedJob, _ job: Job) -> [Problem] {
    guard let started = job.started else { return [] }
    var problems: [Problem] = []
    for other in expected.after {
      let end = jobs[other]?.finished
      if let end, end <= started { continue }
      let lead = end.map { "\($0 - started) s before" } ?? "before"
      let state = jobs[other]?.state ?? "unknown"
      let text = "\(expected.id) (\(job.state)) began \(lead) \(other) was over (\(state))"
      problems.append(Problem(kind: .other, description: text))
    }
    // Dates are seconds since 2001 in the store.
    if let time = expected.notBefore, started + Date.timeIntervalBetween1970AndReferenceDate < time {
      problems.append(Problem(kind: .other, description: "\(expected.id) began too early"))
    }
    return problems
  }
}
