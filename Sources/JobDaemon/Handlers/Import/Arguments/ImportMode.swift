/// What an import does with objects that are there already.
enum ImportMode: String, CaseIterable, Sendable {
  /// Every record becomes a new object; one whose unique values are taken is rejected.
  case insert
  /// A record whose key is taken is left out.
  case skip
  /// An object that has the key takes over the record's values; other records become new objects.
  case update
  /// As `update`, and objects that no record has the key of are deleted.
  case mirror
  /// All objects of the entity are deleted first.
  case replaceAll

  /// Whether records are looked for by a key.
  var usesKey: Bool { self == .skip || self == .update || self == .mirror }
  /// Whether objects are deleted that were there.
  var deletes: Bool { self == .mirror || self == .replaceAll }
  /// Whether it can only be done as a whole, in one transaction.
  var isAtomic: Bool { self == .mirror || self == .replaceAll }
  /// Whether deleting the new objects takes everything back.
  var canBeTakenBack: Bool { self == .insert || self == .skip }
}
