/// The failures of one context that properties and initializers could not throw; its next save throws them.
final class DeferredFailures {
  /// The first read error.
  private var readFailure: (any Error)?
  /// The error that left a new object without a key; saves throw it while such objects are registered.
  private var keyFailure: StoreError?
  private var keylessCount: Int64 = 0

  /// Notes an error that could not be thrown; later ones are usually its consequences.
  func note(_ error: any Error) { readFailure = readFailure ?? error }

  /// Removes and returns the first error.
  func pop() -> (any Error)? {
    defer { readFailure = nil }
    return readFailure
  }

  /// Notes why the store has no key for a new object, and returns a negative one, which can't be saved.
  func substituteKey(_ error: StoreError) -> Int64 {
    keyFailure = error
    keylessCount += 1
    return -keylessCount
  }

  /// - Throws: the error that left the object without a key.
  func checkKey(of id: ManagedObjectID) throws(StoreError) {
    if id.key < 0, let keyFailure { throw keyFailure }
  }

  func removeAll() {
    readFailure = nil
    keyFailure = nil
  }
}
