/// The objects of a large result, each checked for its class while it is at hand.
///
/// An array of a class that only the caller knows asks the runtime for its type at each append, which took an eighth of a
/// large fetch; and a pass over all objects at the end, for their class or their count of holders, finds none of them in
/// the processor's cache.
struct ObjectList<Object: ManagedObject>: ~Copyable {
  /// Held, until they are handed over.
  private var objects: [Unmanaged<ManagedObject>] = []
  /// The class of the object before, which the next one mostly has too.
  private var latest: ManagedObject.Type?

  deinit { for object in objects { object.release() } }

  /// Appends an object, which traps if it is of another class.
  @inline(__always)
  mutating func append(_ object: ManagedObject) {
    let type = type(of: object)
    if latest != type { check(object, type) }
    objects.append(.passRetained(object))
  }

  private mutating func check(_ object: ManagedObject, _ type: ManagedObject.Type) {
    _ = object.typed(as: Object.self)
    latest = type
  }

  /// Hands the objects over.
  mutating func takeAll() -> [Object] {
    let taken = objects
    objects = []
    return Array(unsafeUninitializedCapacity: taken.count) { buffer, count in
      taken.withUnsafeBytes { references in
        // The references are those that this list held; what they lead to was checked to be of the class.
        UnsafeMutableRawBufferPointer(buffer).copyMemory(from: references)
      }
      count = taken.count
    }
  }
}
