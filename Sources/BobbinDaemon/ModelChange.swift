import ObjectModel

/// The difference between the models that a daemon runs with and those in the folder, as far as a reload is concerned.
enum ModelChange {
  case none
  /// The daemon takes them without a restart; a sentence for each difference.
  case taken([String])
  /// It goes on with the old ones; a sentence for each reason, with what can be done.
  case refused([String])

  /// Compares two models, and tries the new one on the store.
  ///
  /// A reload only adds: jobs that wait may name what goes or is called otherwise, and whether it may go is for an
  /// operator to say, at a time of their choice.
  /// - Parameter trial: throws what is in the way of opening the store with the new model; changes nothing.
  init(from old: ManagedObjectModel, to new: ManagedObjectModel, trial: () throws -> Void) {
    if Self.descriptions(old) == Self.descriptions(new) {
      self = .none
      return
    }
    let mapping = MappingInference(from: old, to: new)
    do { try trial() } catch {
      self = .refused("\(error)".split(separator: "\n").map(String.init))
      return
    }
    let alterations = mapping.alterations
    if alterations.isEmpty {
      self = .taken(mapping.changes.isEmpty ? ["rules or indexes are others"] : mapping.changes)
    } else {
      self = .refused(
        alterations.map { "\($0): a reload only adds to the models; restart the daemon to have it take this" })
    }
  }

  private static func descriptions(_ model: ManagedObjectModel) -> Set<EntityDescription> {
    Set(model.entities.map(\.entityDescription))
  }
}
