import ObjectModel

/// An object in a result, with the values that determine its place.
struct ResultsEntry {
  let id: ManagedObjectID
  let row: Row
  let section: String
}
