import JSONText
import RecordInput
import TestSupport
import Testing

/// The streaming reader of imports beside the reader that makes a tree: both must accept the same texts, as the same
/// values.
@Suite("The two readers of JSON")
struct JSONReadersAgreeTests {
  private static let limits = JSONLimits(depth: 512, duplicateKeys: .useLast)

  @Test("Random arrays, whole and damaged, are read alike", arguments: [1, 2, 3] as [UInt64])
  func arrays(seed: UInt64) throws {
    var random = RandomJSON(seed: seed)
    var counts = (accepted: 0, rejected: 0)
    for round in 0..<1_500 {
      let text = round % 3 == 0 ? random.array(depth: 3) : random.damaged(random.array(depth: 3))
      let reading = try read(text) { options in
        (options.format, options.encoding, options.compression) = (.ndjson, .utf8, Compression.none)
        (options.hasHeader, options.allowsAnyFieldCount) = (false, true)
      }
      guard let record = reading.records.first else { continue }
      let tree = Self.tree(text)
      if Self.mustAgree(record, tree, text) { counts.accepted += 1 } else { counts.rejected += 1 }
      guard case .value(let value) = tree, record.error == nil else { continue }
      let elements = value.array ?? [value]
      #expect(record.fields.count == elements.count, "\(Self.shown(text))")
      for (index, element) in elements.enumerated() where index < record.fields.count {
        #expect(Self.isSame(record.fields[index], record.kinds[index], element), "\(Self.shown(text)), field \(index)")
      }
    }
    #expect(counts.accepted > 300 && counts.rejected > 300, "\(counts)")
  }

  @Test("Random objects, whole and damaged, are read alike", arguments: [4, 5, 6] as [UInt64])
  func objects(seed: UInt64) throws {
    var random = RandomJSON(seed: seed)
    for round in 0..<1_500 {
      let text = round % 3 == 0 ? random.object(depth: 3) : random.damaged(random.object(depth: 3))
      let reading = try read(text) { options in
        (options.format, options.encoding, options.compression) = (.ndjson, .utf8, Compression.none)
        options.hasHeader = true
      }
      guard let record = reading.records.first, record.error?.rule != "notAnObject" else { continue }
      let tree = Self.tree(text)
      _ = Self.mustAgree(record, tree, text)
      guard case .value(let value) = tree, record.error == nil, let names = reading.columns else { continue }
      #expect(value.object?.count == names.count, "\(Self.shown(text))")
      for (index, name) in names.enumerated() where index < record.fields.count {
        let member = try #require(value[name], "\(Self.shown(text)), key \(name)")
        #expect(Self.isSame(record.fields[index], record.kinds[index], member), "\(Self.shown(text)), key \(name)")
      }
    }
  }

  private enum Tree {
    case value(JSONValue)
    case refused
    /// A number that no Double holds, which an import may still take into a decimal or reject as a value.
    case beyondDouble
  }

  private static func tree(_ text: [UInt8]) -> Tree {
    do throws(JSONError) { return .value(try JSONValue(parsing: text, limits: limits)) } catch {
      return error.message.contains("too large") ? .beyondDouble : .refused
    }
  }

  /// Checks that both readers accept a text or both refuse it; true if they accept it.
  private static func mustAgree(_ record: ReadRecord, _ tree: Tree, _ text: [UInt8]) -> Bool {
    switch tree {
    // A record is for a store, which may not hold every character.
    case .value where record.error?.rule == "nulByte": #expect(shown(text).contains("\\u0000"))
    case .value: #expect(record.error == nil, "\(shown(text)): \(String(describing: record.error))")
    case .refused: #expect(record.error != nil, "\(shown(text))")
    case .beyondDouble: break
    }
    return record.error == nil
  }

  private static func isSame(_ field: String?, _ kind: FieldKind, _ value: JSONValue) -> Bool {
    switch kind {
    case .null: return value.isNull
    case .quotedText: return value == .string(field ?? "")
    case .number, .boolean, .json:
      guard let field, let read = try? JSONValue(parsing: Array(field.utf8), limits: limits) else { return false }
      return read == value
    case .absent, .text: return false
    }
  }

  private static func shown(_ text: [UInt8]) -> String { String(decoding: text, as: UTF8.self) }
}

/// Random texts in all the ways in which JSON can be written on one line.
private struct RandomJSON {
  private var random: SeededGenerator
  private static let pieces = Array("{}[]\",:'\\/*u0+-.eEtfn \t".utf8)

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  mutating func array(depth: Int) -> [UInt8] { Array(list("[", "]", depth: depth) { $0.value(depth: depth - 1) }.utf8) }

  mutating func object(depth: Int) -> [UInt8] { Array(members(depth: depth).utf8) }

  /// The text with a few bytes changed, removed or added; still one line.
  mutating func damaged(_ text: [UInt8]) -> [UInt8] {
    var bytes = text
    for _ in 0..<Int.random(in: 1...3, using: &random) where !bytes.isEmpty {
      let index = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0: bytes.remove(at: index)
      case 1: bytes.insert(pick(Self.pieces), at: index)
      case 2: bytes[index] = UInt8.random(in: 0x20...0xFF, using: &random)
      default: bytes[index] = pick(Self.pieces)
      }
    }
    return bytes
  }

  private mutating func value(depth: Int) -> String {
    switch Int.random(in: 0..<(depth > 0 ? 7 : 5), using: &random) {
    case 0: pick(["null", "true", "false"])
    case 1: "\(Int64.random(in: .min ... .max, using: &random))"
    case 2: pick(["0", "-0", "1.50", "-0.0", "1e3", "2E-7", "12345678901234567890", "1e308", "0.1e+1", "9e999"])
    case 3, 4: string()
    case 5: list("[", "]", depth: depth) { $0.value(depth: depth - 1) }
    default: members(depth: depth)
    }
  }

  private mutating func members(depth: Int) -> String {
    list("{", "}", depth: depth) { random in
      // Keys that repeat, and one that is spelled in two ways.
      let key = random.pick(["a", "b", "c.d", "e", "\\u0061", "f\\n", ""])
      return "\"\(key)\"\(random.space()):\(random.space())\(random.value(depth: depth - 1))"
    }
  }

  private mutating func list(_ open: String, _ close: String, depth: Int, _ element: (inout Self) -> String) -> String {
    var parts: [String] = []
    for _ in 0..<Int.random(in: 0..<5, using: &random) { parts.append(space() + element(&self) + space()) }
    return open + (parts.isEmpty ? space() : parts.joined(separator: ",")) + close
  }

  private mutating func string() -> String {
    var text = ""
    for _ in 0..<Int.random(in: 0..<12, using: &random) {
      text += pick([
        "x", "yz", " ", "é", "\u{1F600}", "\\\"", "\\\\", "\\/", "\\u00e9", "\\ud83d\\ude00", "\\t", "\\b", "\\u0000",
      ])
    }
    return "\"\(text)\""
  }

  private mutating func space() -> String { pick(["", "", "", " ", "\t", "  "]) }

  private mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[Int.random(in: elements.indices, using: &random)]
  }
}
