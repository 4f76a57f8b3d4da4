/// The objects of a fetch, made batch by batch when they are asked for; their number and order are known at once.
///
/// The objects of the batches that were used last are held, so that walking through a large result takes little
/// memory. An object whose row was deleted since the fetch is an inaccessible fault.
public struct LazyObjects<Object: ManagedObject>: RandomAccessCollection {
  /// The IDs of all objects, in order.
  public let objectIDs: [ManagedObjectID]
  /// The most rows that are read by one statement.
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

  /// The object at a place; reads its batch if that is not at hand.
  ///
  /// A batch that can't be read leaves faults, whose failure the next save throws.
  public subscript(position: Int) -> Object {
    precondition(indices.contains(position), "the result has \(count) objects, and none at \(position)")
    let number = position / batchSize
    let start = number * batchSize
    let objects = batches.batch(number, objectIDs[start..<Swift.min(start + batchSize, objectIDs.count)])
    return objects[position - start].typed(as: Object.self)
  }
}

/// The batches of a lazy result that were used last.
final class ObjectBatches {
  private let registry: ObjectRegistry
  private let read: ([ManagedObject]) throws -> Void
  private var recent: [(number: Int, objects: [ManagedObject])] = []
  /// Enough for two loops side by side, or a loop and its neighbours.
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
    do { try read(objects) } catch { registry.noteFaultFailure(error) }
    if recent.count >= Self.limit { recent.removeFirst() }
    recent.append((number, objects))
    return objects
  }
}

extension ManagedObject {
  /// The object as the class that a request names.
  func typed<Object: ManagedObject>(as type: Object.Type) -> Object {
    guard let typed = self as? Object else {
      preconditionFailure("\(entity.name) has objects of \(Swift.type(of: self)), not of \(Object.self)")
    }
    return typed
  }
}
