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

  package init(
    helperPath: String, size: Int, arguments: ImageHelperArguments = ImageHelperArguments(),
    jobsPerHelper: Int = 200, wallClockLimit: Duration = .seconds(300)
  ) {
    precondition(size > 0 && jobsPerHelper > 0, "a pool needs a helper and a helper needs a job")
    self.helperPath = helperPath
    self.size = size
    self.arguments = arguments
    self.jobsPerHelper = jobsPerHelper
    self.wallClockLimit = wallClockLimit
  }
}
