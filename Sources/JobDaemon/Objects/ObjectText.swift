import Foundation
import HTTPService
import JSONText
import ObjectGraph
import StatusReplies

/// A form in which objects are shown.
enum ObjectFormat: String, CaseIterable, Sendable {
  case json, ndjson, csv

  var contentType: String {
    switch self {
    case .json: "application/json"
    case .ndjson: "application/x-ndjson"
    case .csv: "text/csv; charset=utf-8; header=present"
    }
  }

  /// The form that a request's `Accept` asks for; JSON unless it names another one first.
  init(accept: String?) {
    let names = (accept ?? "").split(separator: ",").map { name in
      name.split(separator: ";").first.map { $0.trimmingCharacters(in: .whitespaces).lowercased() } ?? ""
    }
    self =
      names.lazy.compactMap { name -> ObjectFormat? in
        switch name {
        case "application/json": .json
        case "application/x-ndjson", "application/ndjson", "application/jsonl": .ndjson
        case "text/csv": .csv
        default: nil
        }
      }.first ?? .json
  }
}

/// Writes objects as JSON.
struct ObjectJSON {
  /// The largest binary value that is written in base64, in bytes.
  let inlineLimit: Int

  func value(_ object: ShownObject) throws -> JSONValue {
    var values = JSONObject()
    for property in object.entity.properties where !property.isHidden && !property.isTransient {
      if property.storage == .toMany {
        guard let shown = object.destinations[property.name] else { continue }
        values[property.name] = .object([
          "objects": .array(try shown.objects.map(value)), "more": .bool(shown.hasMore),
        ])
      } else {
        values[property.name] = try value(of: property, in: object)
      }
    }
    return .object([
      "id": .string(String(object.id.key)), "entity": .string(object.entity.name), "values": .object(values),
    ])
  }

  private func value(of property: Property, in object: ShownObject) throws -> JSONValue {
    guard let attribute = property.attribute else {
      if let destination = object.destination[property.name] { return try value(destination) }
      return object.row.referenceIfPresent(property.slot).map { id in
        .object(["id": .string(String(id.key)), "entity": id.entity.map { .string($0.name) } ?? .null])
      } ?? .null
    }
    guard attribute.type.storage == .blob else { return try object.row.value(of: attribute, property.slot).json }
    if object.row.isNull(property.slot) { return .null }
    let blob = object.row.blob(property.slot)
    var shown: JSONObject = [
      "bytes": .integer(Int64(blob.byteCount)), "href": .string(object.path(of: property)),
    ]
    if blob.byteCount <= inlineLimit { shown["base64"] = .string(try blob.load().base64EncodedString()) }
    return .object(shown)
  }
}

/// Writes objects as CSV by RFC 4180: an empty field is nil, an empty text is quoted.
///
/// There is a column for each attribute and each to-one relationship, whose objects are keys; the attributes of an expanded
/// one stand in columns of their own, `relationship.attribute`.
struct ObjectCSV {
  private let inlineLimit: Int
  private let columns: [Column]
  private let showsEntity: Bool

  private struct Column {
    let relationship: Property?
    let property: Property

    var name: String { relationship.map { "\($0.name).\(property.name)" } ?? property.name }
  }

  /// - Throws: ``ObjectQueryError`` if the query expands a to-many relationship.
  init(_ query: ObjectQuery) throws(ObjectQueryError) {
    inlineLimit = query.inlineLimit
    showsEntity = !query.entity.children.isEmpty
    var columns: [Column] = []
    for property in ObjectQuery.shownProperties(of: query.entity) where property.storage != .toMany {
      columns.append(Column(relationship: nil, property: property))
      guard query.expanded.contains(where: { $0.name == property.name }), let other = property.destination else {
        continue
      }
      for inner in ObjectQuery.shownProperties(of: other) where inner.storage != .toMany {
        columns.append(Column(relationship: property, property: inner))
      }
    }
    if let toMany = query.expanded.first(where: { $0.storage == .toMany }) {
      throw ObjectQueryError(
        .badRequest, "expand: a table has no place for the to-many relationship \"\(toMany.name)\"",
        hint: "ask for JSON, or query \(toMany.destination?.name ?? "the other entity") itself")
    }
    self.columns = columns
  }

  var header: [UInt8] {
    Self.line(["_id"] + (showsEntity ? ["_entity"] : []) + columns.map(\.name))
  }

  func line(_ object: ShownObject) throws -> [UInt8] {
    var fields: [String?] = [String(object.id.key)]
    if showsEntity { fields.append(object.entity.name) }
    for column in columns {
      guard let relationship = column.relationship else {
        fields.append(try field(column.property, of: object))
        continue
      }
      fields.append(try object.destination[relationship.name].flatMap { try field(column.property, of: $0) })
    }
    return Self.line(fields)
  }

  private func field(_ shown: Property, of object: ShownObject) throws -> String? {
    guard let property = object.entity.property(named: shown.name), !object.row.isNull(property.slot) else {
      return nil
    }
    guard let attribute = property.attribute else { return String(object.row.reference(property.slot).key) }
    guard attribute.type.storage == .blob else {
      return switch try object.row.value(of: attribute, property.slot).json {
      case .string(let text): text
      case .null: nil
      case let other: other.serialized()
      }
    }
    let blob = object.row.blob(property.slot)
    return blob.byteCount <= inlineLimit ? try blob.load().base64EncodedString() : object.path(of: property)
  }

  private static func line(_ fields: [String?]) -> [UInt8] {
    var line: [UInt8] = []
    for (index, field) in fields.enumerated() {
      if index > 0 { line.append(UInt8(ascii: ",")) }
      guard let field else { continue }
      let isPlain = !field.isEmpty && !field.utf8.contains { Self.special.contains($0) }
      if isPlain {
        line += field.utf8
      } else {
        line += "\"\(field.replacing("\"", with: "\"\""))\"".utf8
      }
    }
    return line + "\r\n".utf8
  }

  /// A blank at an end of a field is kept by quoting it.
  private static let special = Set(",\"\r\n ".utf8)
}

extension ShownObject {
  /// The request that answers with the value of an attribute.
  func path(of property: Property) -> String {
    let names = [entity.name, String(id.key), property.name].map { name in
      name.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? name
    }
    return "/v1/objects/" + names.joined(separator: "/")
  }
}

extension Value {
  /// A value that is not binary: decimals are texts, so that no reader rounds them, and moments have milliseconds.
  fileprivate var json: JSONValue {
    switch self {
    case .null, .data: .null
    case .integer(let number): .integer(number)
    case .double(let number): number.isFinite ? .number(number) : .string("\(number)")
    case .boolean(let truth): .bool(truth)
    case .date(let date): .string(Timestamp(date).text)
    case .string, .decimal, .uuid, .url: .string(description)
    }
  }
}
