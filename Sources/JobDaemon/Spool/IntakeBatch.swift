/// Files that are to be admitted in one save: bounded in what they hold, not only in their number.
struct IntakeBatch {
  private let jobLimit: Int
  private let byteLimit: Int
  private(set) var candidates: [Admission.Candidate] = []
  private var jobs = 0
  private var bytes = 0

  init(jobLimit: Int, byteLimit: Int) {
    self.jobLimit = jobLimit
    self.byteLimit = byteLimit
  }

  /// Whether the next file belongs into another batch.
  var isFull: Bool { jobs >= jobLimit || bytes >= byteLimit }

  /// Adds a file that was claimed; nil, where a file turned out to be none, changes nothing.
  mutating func add(_ candidate: Admission.Candidate?) {
    guard let candidate else { return }
    candidates.append(candidate)
    jobs += candidate.contents.jobs.count
    bytes += candidate.file.data.count
  }
}
