import CSQLite
import SQLGeneration
import StoreInterface

extension Connection {
  /// Registers the functions that generated SQL calls.
  func registerFunctions() throws(StoreError) {
    for box in FunctionBox.all {
      let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY
      let code = sqlite3_create_function_v2(
        rawHandle, box.function.name, Int32(box.function.argumentCount), flags,
        Unmanaged.passUnretained(box).toOpaque(),
        callFunction, nil, nil, nil)
      guard code == SQLITE_OK else { throw error(code, sql: nil) }
    }
    try registerAggregates()
  }
}

/// Gives a function an address for SQLite to hand back; the boxes live as long as the process.
private final class FunctionBox: Sendable {
  static let all = SQLFunction.all.map(FunctionBox.init)
  let function: SQLFunction
  init(_ function: SQLFunction) { self.function = function }
}

private func callFunction(
  _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
) {
  guard let data = sqlite3_user_data(context), let values else { return sqlite3_result_null(context) }
  let box = Unmanaged<FunctionBox>.fromOpaque(data).takeUnretainedValue()
  let arguments = (0..<Int(count)).map { SQLFunction.Argument(values[$0]) }
  setResult(box.function(arguments), of: context)
}

/// Gives SQLite what a function computed.
func setResult(_ result: SQLBinding, of context: OpaquePointer?) {
  // SQLITE_TRANSIENT is a macro that casts -1 to a function, which Swift can't import.
  let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
  switch result {
  case .null: sqlite3_result_null(context)
  case .integer(let number): sqlite3_result_int64(context, number)
  case .double(let number): sqlite3_result_double(context, number)
  case .text(var text):
    text.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { characters in
        sqlite3_result_text64(
          context, characters.baseAddress, UInt64(characters.count), transient, UInt8(SQLITE_UTF8))
      }
    }
  case .blob(let bytes):
    bytes.withUnsafeBytes { sqlite3_result_blob64(context, $0.baseAddress, UInt64($0.count), transient) }
  case .array: preconditionFailure("a function of SQLite returns no array")
  }
}

extension SQLFunction.Argument {
  /// Bytes are valid until the function returns.
  init(_ value: OpaquePointer?) {
    switch sqlite3_value_type(value) {
    case SQLITE_INTEGER: self = .integer(sqlite3_value_int64(value))
    case SQLITE_FLOAT: self = .double(sqlite3_value_double(value))
    case SQLITE_NULL: self = .null
    default:
      let start = sqlite3_value_blob(value)
      self = .bytes(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value))))
    }
  }
}

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

/// The memory where SQLite keeps the group's box: zeroed at first, and nil if a result is asked for without a row.
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
