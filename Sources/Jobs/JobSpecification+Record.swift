import JSONText

extension JobSpecification {
  /// A job as its record has it.
  ///
  /// - Parameter withArguments: whether the arguments are read, too.
  /// - Throws: ``JobFileError`` if somebody has put something else into the record.
  package init(record job: Job, withArguments: Bool = true) throws(JobFileError) {
    self.init(
      type: job.type, id: job.id, queue: job.queue, priority: Int(job.priority), maxAttempts: Int(job.maxAttempts))
    notBefore = job.dueAt
    batch = job.batch
    // The commonest text need not be parsed.
    if withArguments && job.arguments != "{}" { arguments = try Self.document(job.arguments, "arguments").value }
    if let options = job.options { try readOptions(options) }
  }
}
