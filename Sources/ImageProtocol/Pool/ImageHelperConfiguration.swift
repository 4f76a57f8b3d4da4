/// How many image helpers there are, how they are started and when they are ended.
package struct ImageHelperConfiguration: Sendable {
  /// The path of `bobbin-image`.
  package var helperPath: String
  /// The most helpers, and so pictures, at a time; each takes a processor.
  package var size: Int
  /// The limits of each helper's process.
  package var arguments: ImageHelperArguments
  /// After this many jobs a helper is replaced, which bounds what a leak in a decoder can gather.
  package var jobsPerHelper: Int
  /// The longest that one job may take in a helper; time in the queue doesn't count.
  package var wallClockLimit: Duration
  /// How much memory all helpers together may take, in bytes.
  package var memoryBudget: Int
  /// A helper that has more memory than this after a job, in bytes, is replaced.
  package var recycleMemory: Int

  /// What a helper takes that does nothing: some 36 MB for libraries, most of it shared, and what a heap keeps.
  static let idleMemory = 40 << 20
  /// What a helper may take for a picture without asking, in bytes; enough for most thumbnails.
  static let freeMemory = 32 << 20
  /// How much address space a helper may gain from picture to picture, in bytes; it has twice that in reserve.
  static let addressSpaceGain = 128 << 20

  package init(
    helperPath: String, size: Int, arguments: ImageHelperArguments = ImageHelperArguments(),
    jobsPerHelper: Int = 200, wallClockLimit: Duration = .seconds(300), memoryBudget: Int = 3 << 30,
    recycleMemory: Int = 256 << 20
  ) {
    precondition(size > 0 && jobsPerHelper > 0, "a pool needs a helper and a helper needs a job")
    self.helperPath = helperPath
    // Half of the budget at least is for large pictures.
    self.size = max(1, min(size, memoryBudget / 2 / (Self.idleMemory + Self.freeMemory)))
    self.arguments = arguments
    self.jobsPerHelper = jobsPerHelper
    self.wallClockLimit = wallClockLimit
    self.memoryBudget = memoryBudget
    self.recycleMemory = recycleMemory
  }

  /// The memory that helpers have to ask for, together.
  var sharedMemory: Int { max(0, memoryBudget - size * (Self.idleMemory + Self.freeMemory)) }
}
