/// The links of one join table in memory, found from either side.
struct InMemoryLinks {
  private struct Orders {
    var order: Int64?
    var inverseOrder: Int64?
  }

  private var fromLeft: [Int64: [Int64: Orders]] = [:]
  private var fromRight: [Int64: Set<Int64>] = [:]

  /// The keys at the other end, and their places.
  func links(of key: Int64, isLeft: Bool) -> [(key: Int64, order: Int64?)] {
    if isLeft { return fromLeft[key]?.map { ($0.key, $0.value.order) } ?? [] }
    return fromRight[key]?.map { ($0, fromLeft[$0]?[key]?.inverseOrder) } ?? []
  }

  mutating func apply(_ change: LinkChange) {
    let (left, right) = (change.key.left.key, change.key.right.key)
    guard change.isPresent else { return remove(left, right) }
    var orders = fromLeft[left]?[right] ?? Orders()
    orders.order = change.order ?? orders.order
    orders.inverseOrder = change.inverseOrder ?? orders.inverseOrder
    fromLeft[left, default: [:]][right] = orders
    fromRight[right, default: []].insert(left)
  }

  private mutating func remove(_ left: Int64, _ right: Int64) {
    fromLeft[left]?[right] = nil
    if fromLeft[left]?.isEmpty == true { fromLeft[left] = nil }
    fromRight[right]?.remove(left)
    if fromRight[right]?.isEmpty == true { fromRight[right] = nil }
  }

  /// Removes the links of an object that is deleted.
  mutating func removeAll(of key: Int64, onLeft: Bool, onRight: Bool) {
    if onLeft { for right in fromLeft[key].map({ Array($0.keys) }) ?? [] { remove(key, right) } }
    if onRight { for left in fromRight[key] ?? [] { remove(left, key) } }
  }
}
