import Glibc

/// The objects of a large result, each checked for its class when it is appended.
///
/// A generic array asks the runtime for its element type at each append, which took an eighth of a large fetch; and a
/// final pass over all objects, for their class or reference count, finds none of them in the processor's cache. The
/// list is its own memory, which the system can grow without copying.
struct ObjectList<Object: ManagedObject>: ~Copyable {
  /// The appended objects, retained until they are returned.
  private var objects: UnsafeMutablePointer<ManagedObject>?
  private var count = 0
  private var capacity = 0
  /// The class of the latest object, which the next one mostly has too.
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

  /// Empties the list and returns its objects.
  mutating func takeAll() -> [Object] {
    Array(unsafeUninitializedCapacity: count) { buffer, taken in
      // The array takes over the references; their objects were checked to be of the class.
      if let objects {
        UnsafeMutableRawPointer(buffer.baseAddress)?.copyMemory(
          from: objects, byteCount: count * MemoryLayout<ManagedObject>.stride)
      }
      taken = count
      count = 0
    }
  }
}
