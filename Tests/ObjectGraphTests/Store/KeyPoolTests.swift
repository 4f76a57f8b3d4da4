import Testing

@testable import ObjectGraph

@Suite("The keys of new objects, without a store")
struct KeyPoolTests {
  private let model = Zoo.model

  private func entity(_ name: String) throws -> Entity { try #require(model.entitiesByName[name]) }

  private func id(_ key: Int64, _ entity: Entity) -> ManagedObjectID {
    ManagedObjectID(key: key, entity: entity, coordinatorOrdinal: 0)
  }

  /// A counter in place of a store's.
  private final class Counter {
    var next: Int64 = 1
    var requests: [Int] = []

    func reserve(_ reservation: KeyReservation) -> Range<Int64> {
      requests.append(reservation.count)
      defer { next += Int64(reservation.count) }
      return next..<next + Int64(reservation.count)
    }
  }

  @Test("Keys follow each other and are drawn once; a block is reserved when the last one is too short")
  func drawing() throws {
    let (pool, counter, dog) = (KeyPool(model), Counter(), try entity("Dog"))
    var drawn: [Range<Int64>] = []
    for count in [1, 1, KeyPool.blockSize - 2, 3, 3 * KeyPool.blockSize, 1] {
      drawn.append(try pool.draw(count, for: dog, reserve: counter.reserve))
    }
    #expect(drawn.map(\.count) == [1, 1, KeyPool.blockSize - 2, 3, 3 * KeyPool.blockSize, 1])
    for (former, next) in zip(drawn, drawn.dropFirst()) { #expect(former.upperBound <= next.lowerBound) }
    #expect(counter.requests == [KeyPool.blockSize, KeyPool.blockSize, 3 * KeyPool.blockSize])
  }

  @Test("Entities of one family draw from the same keys, others from their own")
  func families() throws {
    let (pool, dog, keeper) = (KeyPool(model), try entity("Dog"), try entity("Keeper"))
    let (dogs, keepers) = (Counter(), Counter())
    let first = try pool.draw(1, for: dog, reserve: dogs.reserve)
    let second = try pool.draw(1, for: dog.root, reserve: dogs.reserve)
    let other = try pool.draw(1, for: keeper, reserve: keepers.reserve)
    #expect(second == first.upperBound..<first.upperBound + 1)
    #expect(other == first)
    #expect(dogs.requests.count == 1 && keepers.requests.count == 1)
  }

  @Test("A drawn key is temporary until its object is stored; one that was never drawn here is not")
  func temporary() throws {
    let (pool, counter, dog) = (KeyPool(model), Counter(), try entity("Dog"))
    let keys = try pool.draw(3, for: dog, reserve: counter.reserve)
    let ids = keys.map { id($0, dog) }
    #expect(ids.allSatisfy { pool.isTemporary($0) })
    #expect(pool.areTemporary([(dog.rootIndex, keys)]))
    #expect(!pool.isTemporary(id(keys.upperBound, dog)))
    #expect(!pool.areTemporary([(dog.rootIndex, keys.lowerBound..<keys.upperBound + 1)]))
    #expect(!pool.isTemporary(id(counter.next, dog)))
    let row = Row(RowLayout(dog))
    row.stamp(version: 1)
    pool.noteStored([ChangeSet([RowChange(.insert, ids[1], row: row, base: nil)])])
    #expect(ids.map { pool.isTemporary($0) } == [true, false, true])
    #expect(!pool.areTemporary([(dog.rootIndex, keys)]))
    #expect(pool.areTemporary([(dog.rootIndex, keys.upperBound - 1..<keys.upperBound)]))
  }

  @Test("Keys that others have taken without asking are not drawn any more, and are not temporary")
  func takenByOthers() throws {
    let (pool, counter, dog) = (KeyPool(model), Counter(), try entity("Dog"))
    let first = try pool.draw(1, for: dog, reserve: counter.reserve)
    pool.skip(through: [(dog.root, first.lowerBound + 9)])
    let next = try pool.draw(1, for: dog, reserve: counter.reserve)
    #expect(next.lowerBound == first.lowerBound + 10)
    #expect(pool.isTemporary(id(first.lowerBound, dog)))
    #expect(!pool.isTemporary(id(first.lowerBound + 9, dog)))
    // Of another block there is nothing to give up.
    pool.skip(through: [(dog.root, first.lowerBound)])
    let last = try pool.draw(1, for: dog, reserve: counter.reserve)
    #expect(last.lowerBound == next.upperBound)
  }

  @Test("A save reserves for the tables whose block is half used up, and a close gives the rest back")
  func reservations() throws {
    let (pool, dog) = (KeyPool(model), try entity("Dog"))
    let counters = Dictionary(uniqueKeysWithValues: pool.firstReservations.map { ($0.root.index, Counter()) })
    func reserve(_ reservation: KeyReservation) -> Range<Int64> {
      counters[reservation.root.index]?.reserve(reservation) ?? 0..<0
    }
    let first = pool.firstReservations
    #expect(Set(first.map(\.root.index)).count == model.entities.filter { $0.parent == nil }.count)
    pool.add(first.map(reserve), for: first)
    #expect(pool.dueReservations.isEmpty)
    _ = try pool.draw(KeyPool.blockSize / 2 + 1, for: dog, reserve: reserve)
    let due = pool.dueReservations
    #expect(due.map(\.root.name) == [dog.root.name])
    // What a save that failed has not reserved is due again.
    pool.add([], for: due)
    #expect(pool.dueReservations.count == 1)
    pool.add(due.map(reserve), for: due)
    #expect(pool.dueReservations.isEmpty)
    let rest = pool.takeRest()
    #expect(rest.count == first.count)
    let dogs = try #require(rest.first { $0.root === dog.root })
    #expect(dogs.keys.count == KeyPool.blockSize + KeyPool.blockSize / 2 - 1)
    #expect(pool.takeRest().isEmpty)
  }
}
