package import ObjectModel
import StoreInterface

/// The SQL of one database: all that differs from one to the other in what this module writes.
///
/// Statements are written with question marks; ``finished(_:)`` brings parameters into the dialect's form.
package struct Dialect: Sendable, Hashable {
  private enum Database: Sendable { case sqlite, postgres }
  private let database: Database

  /// SQLite, which calls Swift's functions and keeps values of any type in a column.
  package static let sqlite = Dialect(database: .sqlite)

  /// PostgreSQL 15 or later, with an encoding of UTF-8.
  package static let postgres = Dialect(database: .postgres)

  /// True if statements may call the functions of ``SQLFunction`` and ``SQLAggregate``, which are Swift's.
  package var callsSwift: Bool { database == .sqlite }

  /// True if a text may hold U+0000.
  package var keepsZeroInTexts: Bool { database == .sqlite }

  // MARK: Names

  /// The number of bytes that PostgreSQL keeps of a name; it would cut the others off.
  private static let nameLimit = 63

  /// The name as the database can keep it: a long one gets a hash in place of its end.
  package func name(_ name: String) -> String {
    if database == .sqlite || name.utf8.count <= Self.nameLimit { return name }
    // FNV-1a: the same in each process.
    let hash = name.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    let digits = String(hash, radix: 16)
    var beginning = Substring(name)
    while beginning.utf8.count > Self.nameLimit - 17 { beginning.removeLast() }
    return beginning + "_" + String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// The name in double quotes, as ``name(_:)`` makes it.
  package func quoted(_ name: String) -> String { SchemaName.quoted(self.name(name)) }

  /// The column of a stored property.
  package func columnName(of property: Property) -> String {
    database == .sqlite ? property.columnName : name(property.typedColumnName)
  }

  /// The column with the entity of a to-one relationship's destination; nil if only one is possible.
  package func entityColumnName(of property: Property) -> String? { property.entityColumnName.map(name) }

  /// The column with the name of a large value that lies elsewhere; nil if there is none beside the value's own.
  package func fileColumnName(of property: Property) -> String? {
    guard database == .postgres, property.attribute?.allowsExternalBinaryDataStorage == true else { return nil }
    return name("_file_" + property.typedColumnName)
  }

  /// The declared type of a column of a storage class.
  package func columnType(of storage: StorageClass) -> String {
    if database == .sqlite { return storage.columnType }
    return switch storage {
    case .integer, .reference: "bigint"
    case .real: "double precision"
    case .text: textType
    case .bytes, .blob, .toMany: "bytea"
    }
  }

  /// The declared type of a column of texts, which are ordered by code points.
  package var textType: String { database == .sqlite ? "TEXT" : #"text COLLATE "C""# }

  /// The declared type of a column of keys.
  package var keyType: String { columnType(of: .integer) }

  // MARK: Parameters

  /// A parameter by its number, from 1.
  package func parameter(_ number: Int) -> String { (database == .sqlite ? "?" : "$") + "\(number)" }

  /// A test whether a value is among those of one parameter: a JSON array for SQLite, an array of integers otherwise.
  package func isAmong(parameter number: Int) -> String {
    database == .sqlite
      ? "IN (SELECT value FROM json_each(?\(number)))" : "= ANY(\(parameter(number))::bigint[])"
  }

  /// The segment with its parameters in the dialect's form.
  func finished(_ segment: SQLSegment) -> SQLSegment { database == .sqlite ? segment : segment.numbered }

  // MARK: Expressions

  /// A constant truth value.
  func truth(_ isTrue: Bool) -> String { database == .sqlite ? (isTrue ? "1" : "0") : (isTrue ? "TRUE" : "FALSE") }

  /// The negation of an expression, true also where that is null.
  func negation(_ expression: SQLSegment) -> SQLSegment {
    database == .sqlite ? "NOT IFNULL(" + expression + ", 0)" : "(" + expression + ") IS NOT TRUE"
  }

  /// True if both sides are equal or both are null.
  ///
  /// - Parameters:
  ///   - hasConstant: whether the right side is a constant, which is never null.
  ///   - isSimple: whether both sides are columns, which may stand twice.
  func equality(_ left: SQLSegment, _ right: SQLSegment, hasConstant: Bool, isSimple: Bool) -> SQLSegment {
    // IS costs an index in a few places where = does not.
    if hasConstant { return left + " = " + right }
    switch database {
    case .sqlite: return left + " IS " + right
    // IS NOT DISTINCT FROM finds no index at all.
    case .postgres where isSimple:
      return "(" + left + " = " + right + " OR (" + left + " IS NULL AND " + right + " IS NULL))"
    case .postgres: return "(" + left + " IS NOT DISTINCT FROM " + right + ")"
    }
  }

  /// True if the sides differ; null differs from every value.
  func inequality(_ left: SQLSegment, _ right: SQLSegment) -> SQLSegment {
    database == .sqlite ? left + " IS NOT " + right : "(" + left + " IS DISTINCT FROM " + right + ")"
  }

  /// A key of ORDER BY, which puts null first if it is ascending; that is SQLite's own order.
  func order(_ key: SQLSegment, isAscending: Bool) -> SQLSegment {
    switch database {
    case .sqlite: isAscending ? key : key + " DESC"
    case .postgres: key + (isAscending ? " NULLS FIRST" : " DESC NULLS LAST")
    }
  }

  /// A key of an index that serves such an order.
  func indexKey(_ column: String, isAscending: Bool) -> String {
    database == .sqlite
      ? column + (isAscending ? "" : " DESC") : column + (isAscending ? " NULLS FIRST" : " DESC NULLS LAST")
  }

  /// LIMIT and OFFSET.
  func window(limit: Int?, offset: Int) -> SQLSegment {
    if limit == nil && offset <= 0 { return SQLSegment() }
    var clause = SQLSegment()
    if let limit {
      clause = " LIMIT " + SQLSegment(binding: .integer(Int64(max(0, limit))))
    } else if database == .sqlite {
      // SQLite takes -1 for no limit; an offset needs one.
      clause = " LIMIT " + SQLSegment(binding: .integer(-1))
    }
    if offset > 0 { clause = clause + " OFFSET " + SQLSegment(binding: .integer(Int64(offset))) }
    return clause
  }

  /// A test whether a value is one of several constants of one type.
  ///
  /// - Throws: ``ConditionError`` if the list is too long.
  func membership(
    _ value: SQLSegment, _ constants: [SQLBinding], form: ComparisonForm
  ) throws -> SQLSegment {
    guard database == .postgres else { return value + " IN (" + (try ConstantList(constants).segment) + ")" }
    let array = SQLSegment(binding: .array(SQLArray(constants)))
    return value + " = ANY(" + array + (form == .decimal ? "::numeric[])" : ")")
  }
}

/// Constants of one type as one parameter, for databases that have arrays.
package enum SQLArray: Sendable, Hashable {
  case integers([Int64])
  case doubles([Double])
  case texts([String])
  case blobs([[UInt8]])

  /// - Parameter bindings: constants of one type, or integers among floating-point numbers that hold them exactly.
  init(_ bindings: [SQLBinding]) {
    var (integers, doubles, texts, blobs): ([Int64], [Double], [String], [[UInt8]]) = ([], [], [], [])
    for binding in bindings {
      switch binding {
      case .integer(let number): integers.append(number)
      case .double(let number): doubles.append(number)
      case .text(let text): texts.append(text)
      case .blob(let bytes): blobs.append(bytes)
      case .null, .array: break
      }
    }
    self =
      if !texts.isEmpty { .texts(texts) } else if !blobs.isEmpty { .blobs(blobs) } else if !doubles.isEmpty {
        .doubles(doubles + integers.map(Double.init))
      } else { .integers(integers) }
  }
}
