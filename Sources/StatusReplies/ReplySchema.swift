package import JSONText

/// JSON schemas of replies, found out by watching what their decoding asks for.
///
/// So what clients are told is what `bobbinctl` itself decodes. A field that may be missing there may be null here; fields
/// that nobody decodes are told by ``PartlyDecoded``.
package struct ReplySchemas {
  /// The schemas of objects, by the names of their types.
  package private(set) var definitions: [String: JSONValue] = [:]

  package init() {}

  /// The schema of a type: a reference to its definition, or that of a plain value.
  ///
  /// - Throws: `DecodingError` for a type that decodes in a way that can't be watched.
  package mutating func schema<Value: Decodable>(of type: Value.Type) throws -> JSONValue {
    let book = SchemaBook(definitions)
    let schema = try book.record(type).schema
    definitions = book.definitions
    return schema
  }
}

/// A reply with fields that the daemon writes, and its clients take as they come.
package protocol PartlyDecoded {
  /// The schemas of these fields.
  static var furtherFields: [String: JSONValue] { get }
}

/// A type whose decoding tells less than it is.
private protocol SelfDescribing {
  static var schema: JSONValue { get }
  static var sample: Self { get }
}

/// A type whose schema has that of another in it.
private protocol Composed {
  static func record(in book: SchemaBook) throws -> (schema: JSONValue, value: Self)
}

extension Timestamp: SelfDescribing {
  fileprivate static var schema: JSONValue { ["type": "string", "format": "date-time"] }
  fileprivate static var sample: Timestamp { Timestamp(text: "") }
}

extension Array: Composed where Element: Decodable {
  fileprivate static func record(in book: SchemaBook) throws -> (schema: JSONValue, value: Self) {
    (["type": "array", "items": try book.record(Element.self).schema], [])
  }
}

extension Optional: Composed where Wrapped: Decodable {
  fileprivate static func record(in book: SchemaBook) throws -> (schema: JSONValue, value: Self) {
    (try book.record(Wrapped.self).schema.orNull, nil)
  }
}

extension Dictionary: Composed where Key == String, Value: Decodable {
  fileprivate static func record(in book: SchemaBook) throws -> (schema: JSONValue, value: Self) {
    (["type": "object", "additionalProperties": try book.record(Value.self).schema], [:])
  }
}

extension JSONValue {
  /// This schema, or null.
  fileprivate var orNull: JSONValue {
    guard var object, let type = object["type"]?.string else { return ["anyOf": [self, ["type": "null"]]] }
    object["type"] = [.string(type), "null"]
    return .object(object)
  }
}

/// The definitions that one recording makes.
private final class SchemaBook {
  var definitions: [String: JSONValue]

  init(_ definitions: [String: JSONValue]) { self.definitions = definitions }

  func record<Value: Decodable>(_ type: Value.Type) throws -> (schema: JSONValue, value: Value) {
    if let type = type as? any SelfDescribing.Type, let value = type.sample as? Value { return (type.schema, value) }
    if let type = type as? any Composed.Type {
      let (schema, value) = try type.record(in: self)
      if let value = value as? Value { return (schema, value) }
    }
    let decoder = WatchedDecoder(self)
    let value = try Value(from: decoder)
    if let schema = decoder.scalar { return (schema, value) }
    let name = String(reflecting: type).split(separator: ".").dropFirst().joined(separator: ".")
    if definitions[name] == nil { definitions[name] = decoder.object(of: type) }
    return (["$ref": .string("#/components/schemas/\(name)")], value)
  }
}

/// A decoder that notes what it is asked for, and gives empty values.
private final class WatchedDecoder: Decoder {
  let book: SchemaBook
  let codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any] = [:]
  /// The schema of a plain value, if it decodes one.
  var scalar: JSONValue?
  private var properties: [(name: String, schema: JSONValue)] = []
  private var required: [JSONValue] = []

  init(_ book: SchemaBook) { self.book = book }

  func note(_ name: String, _ schema: JSONValue, isOptional: Bool) {
    properties.append((name, isOptional ? schema.orNull : schema))
    if !isOptional { required.append(.string(name)) }
  }

  func object(of type: any Decodable.Type) -> JSONValue {
    let further = (type as? any PartlyDecoded.Type)?.furtherFields.sorted { $0.key < $1.key } ?? []
    var fields: JSONObject = [:]
    for (name, schema) in properties + further.map({ ($0.key, $0.value) }) { fields[name] = schema }
    var object: JSONObject = ["type": "object", "properties": .object(fields)]
    if !required.isEmpty { object["required"] = .array(required) }
    return .object(object)
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(WatchedFields<Key>(decoder: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw Self.unwatched("a list without a type") }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { WatchedValue(decoder: self) }

  static func unwatched(_ what: String) -> DecodingError {
    .dataCorrupted(.init(codingPath: [], debugDescription: "the schema of \(what) can't be recorded"))
  }
}

/// The plain values that decoders must know.
private enum Plain {
  static let text: JSONValue = ["type": "string"]
  static let flag: JSONValue = ["type": "boolean"]
  static let whole: JSONValue = ["type": "integer"]
  static let real: JSONValue = ["type": "number"]
}

private final class WatchedFields<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: WatchedDecoder
  let codingPath: [any CodingKey] = []
  let allKeys: [Key] = []
  /// The field that the next value is asked for, if that may be missing: then it is looked for first.
  private var optional: String?

  init(decoder: WatchedDecoder) { self.decoder = decoder }

  func contains(_ key: Key) -> Bool {
    optional = key.stringValue
    return true
  }

  func decodeNil(forKey key: Key) -> Bool { false }

  private func note<Value>(_ key: Key, _ schema: JSONValue, giving value: Value) -> Value {
    decoder.note(key.stringValue, schema, isOptional: optional == key.stringValue)
    optional = nil
    return value
  }

  func decode(_ type: Bool.Type, forKey key: Key) -> Bool { note(key, Plain.flag, giving: false) }
  func decode(_ type: String.Type, forKey key: Key) -> String { note(key, Plain.text, giving: "") }
  func decode(_ type: Double.Type, forKey key: Key) -> Double { note(key, Plain.real, giving: 0) }
  func decode(_ type: Float.Type, forKey key: Key) -> Float { note(key, Plain.real, giving: 0) }
  func decode(_ type: Int.Type, forKey key: Key) -> Int { note(key, Plain.whole, giving: 0) }
  func decode(_ type: Int8.Type, forKey key: Key) -> Int8 { note(key, Plain.whole, giving: 0) }
  func decode(_ type: Int16.Type, forKey key: Key) -> Int16 { note(key, Plain.whole, giving: 0) }
  func decode(_ type: Int32.Type, forKey key: Key) -> Int32 { note(key, Plain.whole, giving: 0) }
  func decode(_ type: Int64.Type, forKey key: Key) -> Int64 { note(key, Plain.whole, giving: 0) }
  func decode(_ type: UInt.Type, forKey key: Key) -> UInt { note(key, Plain.whole, giving: 0) }
  func decode(_ type: UInt8.Type, forKey key: Key) -> UInt8 { note(key, Plain.whole, giving: 0) }
  func decode(_ type: UInt16.Type, forKey key: Key) -> UInt16 { note(key, Plain.whole, giving: 0) }
  func decode(_ type: UInt32.Type, forKey key: Key) -> UInt32 { note(key, Plain.whole, giving: 0) }
  func decode(_ type: UInt64.Type, forKey key: Key) -> UInt64 { note(key, Plain.whole, giving: 0) }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    let (schema, value) = try decoder.book.record(type)
    return note(key, schema, giving: value)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { throw WatchedDecoder.unwatched(key.stringValue) }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    throw WatchedDecoder.unwatched(key.stringValue)
  }

  func superDecoder() throws -> any Decoder { throw WatchedDecoder.unwatched("a class") }
  func superDecoder(forKey key: Key) throws -> any Decoder { throw WatchedDecoder.unwatched(key.stringValue) }
}

private struct WatchedValue: SingleValueDecodingContainer {
  let decoder: WatchedDecoder
  let codingPath: [any CodingKey] = []

  private func note<Value>(_ schema: JSONValue, _ value: Value) -> Value {
    decoder.scalar = schema
    return value
  }

  func decodeNil() -> Bool { false }
  func decode(_ type: Bool.Type) -> Bool { note(Plain.flag, false) }
  func decode(_ type: String.Type) -> String { note(Plain.text, "") }
  func decode(_ type: Double.Type) -> Double { note(Plain.real, 0) }
  func decode(_ type: Float.Type) -> Float { note(Plain.real, 0) }
  func decode(_ type: Int.Type) -> Int { note(Plain.whole, 0) }
  func decode(_ type: Int8.Type) -> Int8 { note(Plain.whole, 0) }
  func decode(_ type: Int16.Type) -> Int16 { note(Plain.whole, 0) }
  func decode(_ type: Int32.Type) -> Int32 { note(Plain.whole, 0) }
  func decode(_ type: Int64.Type) -> Int64 { note(Plain.whole, 0) }
  func decode(_ type: UInt.Type) -> UInt { note(Plain.whole, 0) }
  func decode(_ type: UInt8.Type) -> UInt8 { note(Plain.whole, 0) }
  func decode(_ type: UInt16.Type) -> UInt16 { note(Plain.whole, 0) }
  func decode(_ type: UInt32.Type) -> UInt32 { note(Plain.whole, 0) }
  func decode(_ type: UInt64.Type) -> UInt64 { note(Plain.whole, 0) }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let (schema, value) = try decoder.book.record(type)
    return note(schema, value)
  }
}
