import JSONText

extension JobSpecification {
  /// A job as its record has it.
  ///
  /// - Parameter withArguments: true to read the arguments, too.
  /// - Throws: ``JobFileError`` if the record was edited and is invalid.
  package init(record job: Job, withArguments: Bool = true) throws(JobFileError) {
    self.init(
      type: job.type, id: job.id, queue: job.queue, priority: Int(job.priority), maxAttempts: Int(job.maxAttempts))
    notBefore = job.dueAt
    batch = job.batch
    // The most common text need not be parsed.
    if withArguments && job.arguments != "{}" { arguments = try Self.document(job.arguments, "arguments").value }
    if let options = job.options { try readOptions(options) }
  }
}
