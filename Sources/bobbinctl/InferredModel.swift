import Foundation
import JSONText
import RecordInput

/// A model with one entity for an input, and a job that imports the input into it.
struct InferredModel {
  struct Attribute {
    /// In the input; nil if columns have no names of their own.
    let column: String?
    let name: String
    let type: GuessedType
    let isOptional: Bool
    let spelling: ValueSpelling
    /// The reason for the type, in words.
    let explanation: String
    /// The records without a value.
    let blankCount: Int64
    /// The object that the value leads to, if it becomes a relationship instead of an attribute.
    let reference: Reference?

    /// The column's value in the job file.
    fileprivate var mapping: JSONValue {
      if let reference {
        return .object(["relationship": .string(name), "key": .string(reference.key)])
      }
      if spelling == .usual { return .string(name) }
      var object: JSONObject = ["attribute": .string(name)]
      for (key, value) in spelling.keys { object[key] = .string(value) }
      return .object(object)
    }
  }

  /// The object that a column's value is the key of.
  struct Reference {
    let entity: String
    let key: String
    /// The relationship that leads back.
    let inverse: String
  }

  /// The wishes of the user beyond what the values tell; columns are named as in the input.
  struct Wishes {
    var key: [String] = []
    var references: [String: Reference] = [:]
    var nullWords: [String] = []
    /// The share of records that may be rejected, in percent.
    var tolerance = 0.0
  }

  let entity: String
  let attributes: [Attribute]
  /// The attributes whose values together are unique.
  let key: [String]
  /// The relationships that lead back from the entity to those of other inputs.
  var inverses: [Inverse] = []
  private let isByPosition: Bool
  private let nullWords: [String]
  private let rejectLimit: String?

  struct Inverse {
    let name: String
    let entity: String
    let relationship: String
  }

  /// - Parameter hasKeys: whether records are objects of JSON.
  init(entity: String, _ table: TableGuess, hasKeys: Bool, wishes: Wishes = Wishes()) {
    self.entity = entity
    // Columns whose names are missing or repeated can't be named.
    let names = table.names ?? []
    isByPosition = !hasKeys && (names.count != table.columns.count || Set(names).count != names.count)
    let parents = Set(names.flatMap(Self.parents))
    var shown: [(place: Int, name: String?, guess: ColumnGuess)] = []
    for (index, guess) in table.columns.enumerated() {
      let name = index < names.count ? names[index] : nil
      // A key that is null or an object is covered by the keys of the object.
      if hasKeys, let name, guess.valueCount == 0, parents.contains(name) { continue }
      shown.append((index, name, guess))
    }
    let attributeNames = ColumnNames.attributes(shown.map { $0.name ?? "" })
    let keyPlaces = wishes.key.map(table.index)
    let references = Dictionary(
      wishes.references.map { (table.index(of: $0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
    attributes = zip(shown, attributeNames).map { column, name in
      Attribute(
        column: column.name, name: name, type: column.guess.type,
        isOptional: column.guess.isOptional(records: table.records) && !keyPlaces.contains(column.place),
        spelling: column.guess.spelling, explanation: column.guess.explanation,
        blankCount: table.records - column.guess.valueCount, reference: references[column.place])
    }
    let named = Dictionary(zip(shown.map(\.place), attributeNames), uniquingKeysWith: { first, _ in first })
    key = keyPlaces.compactMap { $0.flatMap { named[$0] } }
    nullWords = wishes.nullWords
    rejectLimit = wishes.tolerance > 0 ? Self.rejectLimit(wishes.tolerance, table) : nil
  }

  /// The share that an import may reject: the tolerated one, or what columns together need beyond it.
  private static func rejectLimit(_ percent: Double, _ table: TableGuess) -> String {
    let odd = table.columns.reduce(0) { $0 + $1.toleratedCount } + table.references.values.reduce(0) { $0 + $1.count }
    let rejects = odd + (table.key?.blanks.count ?? 0) + table.badRecords
    let needed = (Double(rejects) * 100 / Double(max(table.records + table.badRecords, 1))).rounded(.up)
    let limit = min(max(percent, needed), 100)
    return (limit == limit.rounded() ? "\(Int(limit))" : "\(limit)") + "%"
  }

  private static func parents(of name: String) -> [String] {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    return (1..<max(parts.count, 1)).map { parts.prefix($0).joined(separator: ".") }
  }

  /// The text of `contents` in an `.xcdatamodel`.
  var contents: String { Self.contents([self]) }

  /// The same for several entities.
  static func contents(_ models: [InferredModel]) -> String {
    """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
    \(models.map(\.element).joined())</model>

    """
  }

  /// The entity as an element of a model.
  var element: String {
    let attributes = attributes.map { attribute in
      let optional = attribute.isOptional ? " optional=\"YES\"" : ""
      if let reference = attribute.reference {
        return "<relationship name=\"\(attribute.name)\"\(optional) maxCount=\"1\" deletionRule=\"Nullify\" "
          + "destinationEntity=\"\(reference.entity)\" inverseName=\"\(reference.inverse)\" "
          + "inverseEntity=\"\(reference.entity)\"/>"
      }
      let scalar = Self.scalars.contains(attribute.type) ? " usesScalarValueType=\"YES\"" : ""
      return "<attribute name=\"\(attribute.name)\"\(optional) attributeType=\"\(attribute.type.rawValue)\"\(scalar)/>"
    }
    var lines = attributes + inverses.map(\.element)
    if !key.isEmpty {
      let constraints = key.map { "        <constraint value=\"\($0)\"/>" }
      lines +=
        ["<uniquenessConstraints>", "    <uniquenessConstraint>"] + constraints
        + ["    </uniquenessConstraint>", "</uniquenessConstraints>"]
    }
    return "    <entity name=\"\(entity)\" representedClassName=\"\(entity)\" syncable=\"YES\">\n"
      + lines.map { "        \($0)\n" }.joined() + "    </entity>\n"
  }

  private static let scalars: Set<GuessedType> = [.integer16, .integer32, .integer64, .double, .boolean]

  /// The job file; it states how the input is written, so that nothing is left to guessing.
  func job(input: String, form: InputForm, options: InputOptions, table: TableGuess) -> JSONValue {
    var arguments: JSONObject = ["input": .string(input), "entity": .string(entity)]
    if !key.isEmpty {
      arguments["mode"] = .string("update")
      arguments["key"] = .array(key.map { .string($0) })
    }
    if let rejectLimit { arguments["maxRejects"] = .string(rejectLimit) }
    arguments["format"] = .string(form.format.rawValue)
    arguments["compression"] = .string(form.compression.rawValue)
    arguments["encoding"] = .string(form.encoding.name)
    if form.isDelimited {
      arguments["separator"] = .string(Self.text(form.dialect.separator))
      arguments["quote"] = form.dialect.quote.map { .string(Self.text($0)) } ?? .null
      arguments["header"] = .bool(form.hasHeader)
      if let comment = form.dialect.comment { arguments["comment"] = .string(Self.text(comment)) }
      if options.strayQuotes != .error { arguments["strayQuotes"] = .string(options.strayQuotes.rawValue) }
    } else if !form.path.isEmpty {
      arguments["records"] = .string(form.path.joined(separator: "."))
    }
    if options.skipLines > 0 { arguments["skipLines"] = .integer(Int64(options.skipLines)) }
    if table.hasShortRecords || options.raggedRows.cuts {
      arguments["raggedRows"] = .string(options.raggedRows.rawValue)
    }
    if !nullWords.isEmpty { arguments["rules"] = .object(["null": .array(nullWords.map { .string($0) })]) }
    arguments["columns"] = columns
    return .object(["type": "import", "arguments": .object(arguments)])
  }

  private var columns: JSONValue {
    if isByPosition { return .array(attributes.map(\.mapping)) }
    var columns: JSONObject = [:]
    for attribute in attributes { columns[attribute.column ?? ""] = attribute.mapping }
    return .object(columns)
  }

  private static func text(_ byte: UInt8) -> String { String(Character(Unicode.Scalar(byte))) }
}

extension InferredModel.Inverse {
  /// The relationship as an element of an entity.
  var element: String {
    "<relationship name=\"\(name)\" optional=\"YES\" toMany=\"YES\" deletionRule=\"Nullify\" "
      + "destinationEntity=\"\(entity)\" inverseName=\"\(relationship)\" inverseEntity=\"\(entity)\"/>"
  }
}
