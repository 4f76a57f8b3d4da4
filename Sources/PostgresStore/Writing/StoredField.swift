import Foundation
import Glibc
import ObjectModel
import SQLGeneration
import StoreInterface

/// A receiver of the values of rows, one after the other in the order of the columns.
protocol ValueSink {
  mutating func integer(_ number: Int64)
  mutating func real(_ number: Double)
  mutating func bytes(_ bytes: UnsafeRawBufferPointer)
  mutating func null()
}

extension ValueSink {
  mutating func text(_ text: String) {
    var text = text
    text.withUTF8 { bytes(UnsafeRawBufferPointer($0)) }
  }
}

extension CopyWriter: ValueSink {}

/// A stored property with the columns that hold its values.
struct StoredField: Sendable {
  let property: Property
  /// The column of the value, quoted as the others are.
  let column: String
  /// The column of the destination's entity, if several are possible.
  let entityColumn: String?
  /// The column of the name of a large value.
  let fileColumn: String?

  init(_ property: Property, in table: SchemaTable) {
    self.property = property
    column = SchemaName.quoted(table.columnName(of: property))
    entityColumn = table.entityColumnName(of: property).map(SchemaName.quoted)
    fileColumn = table.fileColumnName(of: property).map(SchemaName.quoted)
  }

  var slot: Int { property.slot }

  /// All columns of the property with the types of their parameters; ``write(_:to:_:)`` writes as many values.
  var columns: [(name: String, type: ParameterType)] {
    var columns: [(name: String, type: ParameterType)] = [(column, property.storage.parameterType)]
    if let entityColumn { columns.append((entityColumn, .text)) }
    if let fileColumn { columns.append((fileColumn, .text)) }
    return columns
  }

  /// Writes the value of a row that is no binary value.
  ///
  /// - Throws: ``StoreError/Code/unsupported`` for a text that PostgreSQL can't store.
  @inline(__always)
  func write(_ row: Row, to sink: inout some ValueSink, _ model: ManagedObjectModel) throws(StoreError) {
    if row.isNull(slot) { return writeNull(to: &sink) }
    switch property.storage {
    case .integer: sink.integer(row.integer(slot))
    case .real: Self.write(row.real(slot), to: &sink)
    case .text:
      let text = row.unsafeBytes(slot)
      try check(text)
      sink.bytes(text)
    case .bytes: sink.bytes(row.unsafeBytes(slot))
    case .reference: write(row.reference(slot), to: &sink, model)
    case .blob, .toMany: sink.null()
    }
  }

  func writeNull(to sink: inout some ValueSink) {
    sink.null()
    if entityColumn != nil { sink.null() }
    if fileColumn != nil { sink.null() }
  }

  /// Writes a binary value where it was found to belong.
  func write(_ binary: PlacedValue, to sink: inout some ValueSink) {
    switch binary {
    case .null: writeNull(to: &sink)
    case .inline(let data):
      data.withUnsafeBytes { sink.bytes($0) }
      if fileColumn != nil { sink.null() }
    case .apart(let name):
      sink.null()
      sink.text(name)
    }
  }

  @inline(__always)
  func write(_ id: ManagedObjectID, to sink: inout some ValueSink, _ model: ManagedObjectModel) {
    sink.integer(id.key)
    if entityColumn != nil { sink.text(model.entities[Int(id.entityIndex)].name) }
  }

  /// Writes a number; NaN is no value, as for SQLite.
  @inline(__always)
  static func write(_ number: Double, to sink: inout some ValueSink) {
    if number.isNaN { sink.null() } else { sink.real(number) }
  }

  @inline(__always)
  func check(_ text: UnsafeRawBufferPointer) throws(StoreError) {
    guard let start = text.baseAddress, memchr(start, 0, text.count) != nil else { return }
    throw StoreError(
      .unsupported,
      "\(property.declaringEntity).\(property.name) of an object holds the character U+0000, which PostgreSQL does not "
        + "store; remove it from the text")
  }
}

/// The place of a binary value.
enum PlacedValue {
  case null
  case inline(Data)
  /// In the table of large values.
  case apart(String)
}

extension StorageClass {
  /// The type of a parameter for a column of this class.
  var parameterType: ParameterType {
    switch self {
    case .integer, .reference: .integer
    case .real: .real
    case .text: .text
    case .bytes, .blob, .toMany: .binary
    }
  }
}

/// Arrays that are filled row by row, one for each column of a statement.
struct ColumnArrays: ValueSink {
  private var arrays: [ArrayParameter]
  private var next = 0
  private(set) var rowCount = 0

  init(_ types: [ParameterType]) { arrays = types.map { ArrayParameter($0) } }

  mutating func integer(_ number: Int64) {
    arrays[next].append(number)
    advance()
  }

  mutating func real(_ number: Double) {
    arrays[next].append(number)
    advance()
  }

  mutating func bytes(_ bytes: UnsafeRawBufferPointer) {
    arrays[next].append(bytes: bytes)
    advance()
  }

  mutating func null() {
    arrays[next].appendNull()
    advance()
  }

  private mutating func advance() {
    next += 1
    if next == arrays.count {
      next = 0
      rowCount += 1
    }
  }

  var parameters: Parameters {
    precondition(next == 0, "a row has fewer values than there are columns")
    var parameters = Parameters()
    for array in arrays { parameters.add(array) }
    return parameters
  }
}
