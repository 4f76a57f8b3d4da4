import Glibc

/// The objects of a fetch, made batch by batch on first use; their number and order are known at once.
///
/// Only the objects of the latest batches are held, so that iterating over a large result takes little memory. An
/// object whose row was deleted since the fetch is an inaccessible fault.
public struct LazyObjects<Object: ManagedObject>: RandomAccessCollection {
  /// The IDs of all objects, in order.
  public let objectIDs: [ManagedObjectID]
  /// The maximum number of rows read by one statement.
  public let batchSize: Int
  private let batches: ObjectBatches

  init(_ registry: ObjectRegistry, _ request: FetchRequest<Object>, ids: [ManagedObjectID], prefetching: [PrefetchPath])
  {
    objectIDs = ids
    batchSize = request.fetchBatchSize > 0 ? request.fetchBatchSize : FaultGroup.defaultSize
    let realizes = !request.returnsObjectsAsFaults
    batches = ObjectBatches(registry) { objects in
      if request.includesPropertyValues || realizes { try registry.preload(objects) }
      for path in prefetching { try registry.prefetch(path, for: objects) }
      if realizes { for object in objects { _ = try registry.realize(object, trustingFetchedRow: true) } }
    }
  }

  /// 0.
  public var startIndex: Int { 0 }
  /// The number of objects.
  public var endIndex: Int { objectIDs.count }

  /// Returns the object at an index; reads its batch if that is not in memory.
  ///
  /// If a batch can't be read, its objects stay faults, and the next save throws the error.
  public subscript(position: Int) -> Object {
    precondition(indices.contains(position), "the result has \(count) objects, and none at \(position)")
    let number = position / batchSize
    let start = number * batchSize
    let objects = batches.batch(number, objectIDs[start..<Swift.min(start + batchSize, objectIDs.count)])
    return objects[position - start].typed(as: Object.self)
  }
}

/// The latest batches of a lazy result.
final class ObjectBatches {
  private let registry: ObjectRegistry
  private let read: ([ManagedObject]) throws -> Void
  private var recent: [(number: Int, objects: [ManagedObject])] = []
  /// Enough for two interleaved loops, or a loop and its neighbours.
  private static let limit = 4

  init(_ registry: ObjectRegistry, _ read: @escaping ([ManagedObject]) throws -> Void) {
    self.registry = registry
    self.read = read
  }

  func batch(_ number: Int, _ ids: ArraySlice<ManagedObjectID>) -> [ManagedObject] {
    if let last = recent.last, last.number == number { return last.objects }
    registry.checkExecutor()
    if let place = recent.firstIndex(where: { $0.number == number }) {
      let found = recent.remove(at: place)
      recent.append(found)
      return found.objects
    }
    let objects = ids.map { registry.object(with: $0) }
    do { try read(objects) } catch { registry.failures.note(error) }
    if recent.count >= Self.limit { recent.removeFirst() }
    recent.append((number, objects))
    return objects
  }
}

extension ManagedObject {
  /// Returns the object as the requested class; traps if it is of another.
  func typed<Object: ManagedObject>(as type: Object.Type) -> Object {
    guard let typed = self as? Object else {
      preconditionFailure("\(entity.name) has objects of \(Swift.type(of: self)), not of \(Object.self)")
    }
    return typed
  }
}

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
  mutating func drain() -> [Object] {
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
