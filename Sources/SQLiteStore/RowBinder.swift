internal import Foundation
import ObjectModel
import SQLGeneration
import StoreInterface

/// Binds the values of rows of one entity to the parameters of a statement, without copying them.
struct RowBinder {
  struct Field {
    let slot: Int
    let parameter: Int32
    let storage: StorageClass
    /// Whether a reference takes a second parameter for its entity.
    let tellsEntity: Bool
  }

  /// What is bound for a binary value.
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
