public import ObjectGraph

extension ManagedObjectContext {
  /// Returns the job with that object ID, with its values.
  ///
  /// - Throws: ``ObjectNotFound`` if there is no such job.
  public func job(with id: ManagedObjectID) throws -> Job {
    guard let job = try existingObject(with: id) as? Job else { throw ObjectNotFound(objectID: id) }
    return job
  }
}
