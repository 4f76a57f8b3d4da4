/// The destinations of a to-many relationship as they were found, valid until something from outside changes them.
struct ToManyCache {
  var ids: Set<ManagedObjectID>
  /// The registry's generation that the IDs were found in.
  var generation: Int
}
