internal import CSQLite
import SQLGeneration
import StoreInterface

extension Connection {
  /// Registers the aggregate functions that generated SQL calls.
  func registerAggregates() throws(StoreError) {
    for box in AggregateBox.all {
      let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY
      let code = sqlite3_create_function_v2(
        rawHandle, box.aggregate.name, 1, flags, Unmanaged.passUnretained(box).toOpaque(), nil, addToGroup, finishGroup,
        nil)
      guard code == SQLITE_OK else { throw error(code, sql: nil) }
    }
  }
}

/// Gives an aggregate an address for SQLite to hand back; the boxes live as long as the process.
private final class AggregateBox: Sendable {
  static let all = SQLAggregate.all.map(AggregateBox.init)
  let aggregate: SQLAggregate
  init(_ aggregate: SQLAggregate) { self.aggregate = aggregate }
}

/// The rows of one group, from the first one to the result.
private final class GroupBox {
  var group = NumberGroup()
}

/// Where SQLite keeps the group's box; the memory comes zeroed, and is nil if a result is asked for without a row.
private func place(of context: OpaquePointer?, creates: Bool) -> UnsafeMutablePointer<UnsafeMutableRawPointer?>? {
  let size = creates ? Int32(MemoryLayout<UnsafeMutableRawPointer?>.size) : 0
  return sqlite3_aggregate_context(context, size)?.assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
}

private func addToGroup(
  _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
) {
  guard let place = place(of: context, creates: true) else { return sqlite3_result_error_nomem(context) }
  let known = place.pointee ?? Unmanaged.passRetained(GroupBox()).toOpaque()
  place.pointee = known
  Unmanaged<GroupBox>.fromOpaque(known).takeUnretainedValue().group.add(SQLFunction.Argument(values?[0]).number)
}

/// Is called for each group that was begun, also when its statement ends early.
private func finishGroup(_ context: OpaquePointer?) {
  let place = place(of: context, creates: false)
  let group = place?.pointee.map { Unmanaged<GroupBox>.fromOpaque($0).takeRetainedValue().group } ?? NumberGroup()
  place?.pointee = nil
  guard let data = sqlite3_user_data(context) else { return sqlite3_result_null(context) }
  setResult(Unmanaged<AggregateBox>.fromOpaque(data).takeUnretainedValue().aggregate(group), of: context)
}
