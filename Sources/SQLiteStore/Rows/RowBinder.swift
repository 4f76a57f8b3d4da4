import CSQLite
import Foundation
import ObjectModel
import SQLGeneration
import StoreInterface

/// Binds the values of rows of one entity to the parameters of a statement, without copying them.
struct RowBinder {
  struct Field {
    let slot: Int
    let parameter: Int32
    let storage: StorageClass
    /// True if a reference takes a second parameter for its entity.
    let tellsEntity: Bool
  }

  /// The form in which a binary value is bound.
  enum Binary {
    case null
    case inline(Data)
    case file(String)
  }

  let properties: [Property]
  let blobs: [Field]
  private let fields: [Field]
  private let names: EntityNames

  /// - Parameter firstParameter: the parameter of the first value.
  init(_ properties: [Property], firstParameter: Int32, names: EntityNames) {
    self.properties = properties
    self.names = names
    var parameter = firstParameter
    var fields: [Field] = []
    for property in properties {
      let tellsEntity = property.entityColumnName != nil
      fields.append(
        Field(slot: property.slot, parameter: parameter, storage: property.storage, tellsEntity: tellsEntity))
      parameter += tellsEntity ? 2 : 1
    }
    self.fields = fields.filter { $0.storage != .blob }
    blobs = fields.filter { $0.storage == .blob }
  }

  /// Binds all but binary values; the row must be held until the statement is reset.
  ///
  /// - Parameter offset: of the row's parameters, in a statement of several rows.
  @inline(__always)
  func bind(_ row: Row, to statement: Statement, offset: Int32 = 0) {
    for field in fields {
      let parameter = field.parameter &+ offset
      if row.isNull(field.slot) {
        statement.bindNull(parameter)
        if field.tellsEntity { statement.bindNull(parameter + 1) }
        continue
      }
      switch field.storage {
      case .integer: statement.bind(row.integer(field.slot), parameter)
      case .real: statement.bind(row.real(field.slot), parameter)
      case .text: statement.bindText(row.unsafeBytes(field.slot), parameter)
      case .bytes: statement.bindBlob(row.unsafeBytes(field.slot), parameter)
      case .reference:
        let reference = row.reference(field.slot)
        statement.bind(reference.key, parameter)
        if field.tellsEntity { statement.bindText(names[reference.entityIndex], parameter + 1) }
      case .blob, .toMany: break
      }
    }
  }

  /// Binds binary values, one per field of ``blobs``, and steps the statement while their memory is lent.
  func step(_ statement: Statement, binding binaries: ArraySlice<Binary>) -> Int32 {
    guard let binary = binaries.first else { return statement.step() }
    let parameter = blobs[binaries.startIndex].parameter
    switch binary {
    case .null: statement.bindNull(parameter)
    case .file(let name): statement.bindCopy(name, parameter)
    case .inline(let data):
      return data.withUnsafeBytes { bytes in
        statement.bindBlob(bytes, parameter)
        return step(statement, binding: binaries.dropFirst())
      }
    }
    return step(statement, binding: binaries.dropFirst())
  }
}

/// Binds the values of a batch where they lie: nothing is allocated or counted per value.
struct BatchBinder {
  /// A column as plain pointers, so that the loop over the rows touches no reference count.
  struct Source {
    enum Kind { case integers, reals, text, bytes, reference }
    var kind: Kind
    var slot: Int
    var parameter: Int32
    var tellsEntity: Bool
    var values: UnsafeRawPointer?
    var offsets: UnsafePointer<UInt32>?
    var nulls: UnsafePointer<UInt64>?

    @inline(__always)
    func isNull(_ row: Int) -> Bool {
      guard let nulls else { return false }
      return nulls[row >> 6] & (1 << UInt64(row & 63)) != 0
    }

    @inline(__always)
    func bytes(_ row: Int) -> UnsafeRawBufferPointer {
      guard let values, let offsets else { return UnsafeRawBufferPointer(start: nil, count: 0) }
      let start = Int(offsets[row])
      return UnsafeRawBufferPointer(start: values + start, count: Int(offsets[row + 1]) - start)
    }
  }

  private let batch: RowBatch
  private let columns: [RowBatch.Column]
  let properties: [Property]

  init(_ batch: RowBatch) {
    self.batch = batch
    columns = batch.columns.filter { batch.entity.properties[$0.slot].isPersistent }
    properties = columns.map { batch.entity.properties[$0.slot] }
  }

  /// Lends the columns to the body as plain pointers.
  func withSources(_ body: (UnsafeBufferPointer<Source>) -> Int32) -> Int32 {
    for column in columns { check(column) }
    var sources: [Source] = []
    sources.reserveCapacity(columns.count)
    return lend(0, parameter: 2, sources: &sources, body: body)
  }

  /// - Parameter offset: of the row's parameters, in a statement of several rows.
  @inline(__always)
  static func bind(_ source: Source, _ row: Int, statement: Statement, offset: Int32 = 0, names: EntityNames) {
    let parameter = source.parameter &+ offset
    if source.isNull(row) {
      statement.bindNull(parameter)
      if source.tellsEntity { statement.bindNull(parameter + 1) }
      return
    }
    switch source.kind {
    case .text: statement.bindText(source.bytes(row), parameter)
    case .integers:
      statement.bind(source.values.unsafelyUnwrapped.load(fromByteOffset: row * 8, as: Int64.self), parameter)
    case .reals:
      statement.bind(source.values.unsafelyUnwrapped.load(fromByteOffset: row * 8, as: Double.self), parameter)
    case .bytes: statement.bindBlob(source.bytes(row), parameter)
    case .reference:
      let id = source.bytes(row).loadUnaligned(as: ManagedObjectID.self)
      statement.bind(id.key, parameter)
      if source.tellsEntity { statement.bindText(names[id.entityIndex], parameter + 1) }
    }
  }

  /// Makes sure that the loop stays within the column's memory.
  private func check(_ column: RowBatch.Column) {
    let isWhole =
      switch column.values {
      case .integers(let values): values.count >= batch.count
      case .reals(let values): values.count >= batch.count
      case .bytes(let offsets, let arena):
        offsets.count > batch.count && Int(offsets[batch.count]) <= arena.count
      }
    precondition(isWhole, "a column of a batch has fewer values than the batch has rows")
    precondition(column.nullBits.isEmpty || column.nullBits.count * 64 >= batch.count, "null bits are missing")
  }

  /// Borrows the memory of all columns, one inside the other, for the duration of the body.
  private func lend(
    _ index: Int, parameter: Int32, sources: inout [Source], body: (UnsafeBufferPointer<Source>) -> Int32
  ) -> Int32 {
    guard index < columns.count else { return sources.withUnsafeBufferPointer(body) }
    let column = columns[index]
    let tellsEntity = properties[index].entityColumnName != nil
    let next = parameter + (tellsEntity ? 2 : 1)
    var source = Source(kind: .text, slot: column.slot, parameter: parameter, tellsEntity: tellsEntity)
    return column.nullBits.withUnsafeBufferPointer { nulls in
      source.nulls = nulls.isEmpty ? nil : nulls.baseAddress
      switch column.values {
      case .integers(let values):
        return values.withUnsafeBytes { values in
          source.kind = .integers
          source.values = values.baseAddress
          sources.append(source)
          return lend(index + 1, parameter: next, sources: &sources, body: body)
        }
      case .reals(let values):
        return values.withUnsafeBytes { values in
          source.kind = .reals
          source.values = values.baseAddress
          sources.append(source)
          return lend(index + 1, parameter: next, sources: &sources, body: body)
        }
      case .bytes(let offsets, let arena):
        return offsets.withUnsafeBufferPointer { offsets in
          source.kind =
            switch properties[index].storage {
            case .text: .text
            case .reference: .reference
            default: .bytes
            }
          source.offsets = offsets.baseAddress
          source.values = arena.bytes(0..<arena.count).baseAddress
          sources.append(source)
          return withExtendedLifetime(arena) { lend(index + 1, parameter: next, sources: &sources, body: body) }
        }
      }
    }
  }
}
