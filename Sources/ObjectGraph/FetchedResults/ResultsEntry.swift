import ObjectModel

/// An object in a result, with the values that put it where it is.
struct ResultsEntry {
  let id: ManagedObjectID
  let row: Row
  let section: String
}
