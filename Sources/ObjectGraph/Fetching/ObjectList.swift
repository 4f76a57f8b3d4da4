import Glibc

/// The objects of a large result, each checked for its class while it is at hand.
///
/// An array of a class that only the caller knows asks the runtime for its type at each append, which took an eighth of a
/// large fetch; and a pass over all objects at the end, for their class or their count of holders, finds none of them in
/// the processor's cache. The list is memory of its own, which the system can make larger without copying it.
struct ObjectList<Object: ManagedObject>: ~Copyable {
  /// Those that were appended, held until they are handed over.
  private var objects: UnsafeMutablePointer<ManagedObject>?
  private var count = 0
  private var capacity = 0
  /// The class of the object before, which the next one mostly has too.
  private var latest: ManagedObject.Type?

  deinit {
    objects?.deinitialize(count: count)
    free(objects)
  }

  /// Appends an object, which traps if it is of another class.
  @inline(__always)
  mutating func append(_ object: consuming ManagedObject) {
    let type = type(of: object)
    if latest != type { check(object, type) }
    if count == capacity { grow() }
    (objects.unsafelyUnwrapped + count).initialize(to: object)
    count += 1
  }

  private mutating func check(_ object: ManagedObject, _ type: ManagedObject.Type) {
    _ = object.typed(as: Object.self)
    latest = type
  }

  private mutating func grow() {
    capacity = max(64, capacity * 2)
    guard let memory = realloc(objects, capacity * MemoryLayout<ManagedObject>.stride) else {
      fatalError("no memory for the \(capacity) objects of a fetch")
    }
    objects = memory.assumingMemoryBound(to: ManagedObject.self)
  }

  /// Hands the objects over.
  mutating func takeAll() -> [Object] {
    Array(unsafeUninitializedCapacity: count) { buffer, taken in
      // The references are those that this list held; what they lead to was checked to be of the class.
      if let objects {
        UnsafeMutableRawPointer(buffer.baseAddress)?.copyMemory(
          from: objects, byteCount: count * MemoryLayout<ManagedObject>.stride)
      }
      taken = count
      count = 0
    }
  }
}
