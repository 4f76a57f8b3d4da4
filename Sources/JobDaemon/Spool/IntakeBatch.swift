/// Files to be admitted in one save: bounded in what they hold, not only in their number.
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

  /// True if the next file belongs in another batch.
  var isFull: Bool { jobs >= jobLimit || bytes >= byteLimit }

  /// Adds a claimed file; nil, from a claim that yielded none, changes nothing.
  mutating func add(_ candidate: Admission.Candidate?) {
    guard let candidate else { return }
    candidates.append(candidate)
    jobs += candidate.contents.jobs.count
    bytes += candidate.file.data.count
  }
}
