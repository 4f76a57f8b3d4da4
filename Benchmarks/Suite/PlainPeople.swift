internal import CSQLite
import Dispatch

/// What a program without a library for objects does: a structure for each row, filled by SQLite's C interface.
///
/// They are kept in an array and read afterwards, as the objects of a fetch are. Each pass has a connection and a thread
/// of its own, without SQLite's mutexes, so that nothing is paid for but the rows.
struct PlainPeople: Sendable {
  /// A row with all that an object knows of it.
  struct Person {
    let key: Int64
    let version: Int64
    let firstName: String?
    let lastName: String?
    let age: Int64
    let address: String?
  }

  let path: String
  private static let columns = "_key, _version, firstName, lastName, age, address"

  /// Reads everybody; returns the seconds of processor time.
  func readAll(expecting check: FetchCheck) async throws -> Double {
    try await measure("SELECT \(Self.columns) FROM Person ORDER BY _key", [], check)
  }

  /// Reads those of an age, by name; returns the seconds of processor time.
  func read(ofAge age: Int64, expecting check: FetchCheck) async throws -> Double {
    try await measure(
      "SELECT \(Self.columns) FROM Person WHERE age = ?1 ORDER BY lastName, _key", [age], check)
  }

  /// Gives the file an index that finds those of an age in the order of their names.
  func addIndex() throws {
    let handle = try open()
    defer { sqlite3_close_v2(handle) }
    guard sqlite3_exec(handle, "CREATE INDEX byAgeAndName ON Person (age, lastName)", nil, nil, nil) == SQLITE_OK else {
      throw BenchError("\(path): \(String(cString: sqlite3_errmsg(handle)))")
    }
  }

  private func open() throws -> OpaquePointer? {
    var handle: OpaquePointer?
    guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil) == SQLITE_OK else {
      sqlite3_close_v2(handle)
      throw BenchError("can't open \(path)")
    }
    return handle
  }

  /// Runs a pass on a thread of a queue, which is what an object's context has.
  private func measure(_ sql: String, _ bindings: [Int64], _ check: FetchCheck) async throws -> Double {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue(label: "plain").async {
        continuation.resume(with: Result { try read(sql, bindings, check) })
      }
    }
  }

  private func read(_ sql: String, _ bindings: [Int64], _ check: FetchCheck) throws -> Double {
    let handle = try open()
    defer { sqlite3_close_v2(handle) }
    // A connection reads the schema with its first statement; a store's readers are kept open.
    sqlite3_exec(handle, "SELECT 1 FROM Person", nil, nil, nil)
    let start = ThreadClock.seconds
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else {
      throw BenchError("\(path): \(String(cString: sqlite3_errmsg(handle)))")
    }
    defer { sqlite3_finalize(statement) }
    for (place, value) in bindings.enumerated() { sqlite3_bind_int64(statement, Int32(place + 1), value) }
    var people: [Person] = []
    while sqlite3_step(statement) == SQLITE_ROW {
      people.append(
        Person(
          key: sqlite3_column_int64(statement, 0), version: sqlite3_column_int64(statement, 1),
          firstName: Self.text(statement, 2), lastName: Self.text(statement, 3),
          age: sqlite3_column_int64(statement, 4), address: Self.text(statement, 5)))
    }
    var seen = FetchCheck()
    for person in people { seen.add(person.firstName, person.lastName, person.age, person.address) }
    let seconds = ThreadClock.seconds - start
    try seen.compare(with: check)
    return seconds
  }

  @inline(__always)
  private static func text(_ statement: OpaquePointer?, _ column: Int32) -> String? {
    sqlite3_column_text(statement, column).map { String(cString: $0) }
  }
}
