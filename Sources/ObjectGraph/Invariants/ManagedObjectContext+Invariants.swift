extension ManagedObjectContext {
  /// Checks that the registered objects, their relationships and the pending changes agree with each other.
  ///
  /// For tests; it changes nothing. Cost: a pass over the registered objects and the pending changes.
  /// - Throws: ``InvariantViolation`` with all findings.
  public func checkInvariants() throws(InvariantViolation) {
    let findings = pending.findings + registry.findings
    if !findings.isEmpty { throw InvariantViolation(subject: "the context \"\(name)\"", findings: findings) }
  }
}
