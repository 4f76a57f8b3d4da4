/// The decisions about a migration, made by an operator in a file or by the author of a stage in Swift.
package struct MigrationChoices: Sendable {
  /// One decision.
  package struct Statement: Sendable {
    package enum Kind: Sendable, Hashable {
      /// An entity of the earlier model is one of another name in the later model.
      case renameEntity(String, to: String)
      /// A property of the earlier model has another name in the later one.
      case renameProperty(PropertyName, to: String)
      /// The objects of an entity of the earlier model go.
      case dropEntity(String)
      /// The values or links of a property of the earlier model go.
      case dropProperty(PropertyName)
      /// Objects without a value get one, for an attribute of the later model; as a person writes it.
      case setDefault(PropertyName, String)
      /// The values of an attribute of the later model are converted, and rounded where they must be.
      case convert(PropertyName, Fallback)
      /// The rows of an entity of the earlier model are written to a file before anything happens to them.
      case export(String)
      /// Code sets what can't be inferred for the objects of an entity of the earlier model.
      case handle(String)
    }

    package let kind: Kind
    /// The file and line it comes from, or another hint where to look.
    package let place: String

    package init(_ kind: Kind, place: String) {
      self.kind = kind
      self.place = place
    }
  }

  package struct PropertyName: Sendable, Hashable, CustomStringConvertible {
    package let entity: String
    package let property: String

    package init(_ entity: String, _ property: String) {
      self.entity = entity
      self.property = property
    }

    package var description: String { "\(entity).\(property)" }
  }

  /// The treatment of a value that can't be converted.
  package enum Fallback: Sendable, Hashable {
    /// The migration is refused.
    case refuse
    /// The object has no value.
    case nothing
    /// The object has this one, as a person writes it.
    case value(String)
  }

  package var statements: [Statement]

  package init(_ statements: [Statement] = []) { self.statements = statements }

  /// The entities of the earlier model whose rows are written to files.
  package var exports: [String] {
    statements.compactMap { if case .export(let name) = $0.kind { name } else { nil } }
  }

  package func isDropped(_ entity: String) -> Bool { statements.contains { $0.kind == .dropEntity(entity) } }

  package func isHandled(_ entity: String) -> Bool { statements.contains { $0.kind == .handle(entity) } }

  func newName(of entity: String) -> String? {
    for case .renameEntity(entity, let name) in statements.map(\.kind) { return name }
    return nil
  }

  /// Statements name a property by the entity or by one it inherits from.
  func isDropped(_ property: Property, of entity: Entity) -> Bool {
    names(property, entity).contains { name in statements.contains { $0.kind == .dropProperty(name) } }
  }

  func newName(of property: Property, in entity: Entity) -> String? {
    for name in names(property, entity) {
      for case .renameProperty(name, let new) in statements.map(\.kind) { return new }
    }
    return nil
  }

  func defaultText(of property: Property, in entity: Entity) -> String? {
    for name in names(property, entity) {
      for case .setDefault(name, let text) in statements.map(\.kind) { return text }
    }
    return nil
  }

  func conversion(of property: Property, in entity: Entity) -> Fallback? {
    for name in names(property, entity) {
      for case .convert(name, let fallback) in statements.map(\.kind) { return fallback }
    }
    return nil
  }

  private func names(_ property: Property, _ entity: Entity) -> [PropertyName] {
    sequence(first: entity, next: \.parent).map { PropertyName($0.name, property.name) }
  }
}

/// An operator's file with decisions about data where a model has changed in a way that can't be inferred.
///
/// ```
/// from 3f2a9c1b
/// export Order
/// drop Order.legacy
/// convert Order.total else 0
/// ```
/// The statements below a `from` line apply to stores of the model whose hash begins so, and to no others: a decision
/// never applies to a later change. Documentation/StoreFormat.md describes the statements.
package struct MigrationInstructions: Sendable {
  /// The path, for messages.
  package let file: String
  private var sections: [(hash: String, statements: [MigrationChoices.Statement])] = []

  /// An empty or missing file.
  package init(file: String) { self.file = file }

  /// - Throws: ``ModelError`` with the line that can't be read.
  package init(text: String, file: String) throws(ModelError) {
    self.file = file
    for (place, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      var words = Words(line)
      guard let verb = words.next() else { continue }
      func fail(_ message: String) -> ModelError { ModelError(.malformed, message, file: file, line: place + 1) }
      if verb == "from" {
        guard let hash = words.next(), hash.count >= 8, words.isAtEnd else {
          throw fail("\"from\" is followed by the first 8 digits, or more, of the hash that the refusal has named")
        }
        sections.append((hash.lowercased(), []))
        continue
      }
      guard let kind = Self.statement(verb, &words) else {
        throw fail("\"\(line.trimmedBlanks)\" is no statement; there are \(Self.forms)")
      }
      guard !sections.isEmpty else { throw fail("above the statements stands a line \"from HASH\"") }
      sections[sections.count - 1].statements.append(.init(kind, place: "\(file):\(place + 1)"))
    }
  }

  /// The decisions that apply to a store of a model.
  package func choices(from hash: VersionHash) -> MigrationChoices {
    let text = hash.description
    return MigrationChoices(sections.filter { text.hasPrefix($0.hash) }.flatMap(\.statements))
  }

  /// The line above the statements for stores of a model.
  package static func heading(_ hash: VersionHash) -> String { "from \(hash.description.prefix(8))" }

  private static let forms =
    "from HASH, export ENTITY, rename ENTITY to NAME, rename ENTITY.PROPERTY to NAME, drop ENTITY, "
    + "drop ENTITY.PROPERTY, default ENTITY.PROPERTY VALUE, convert ENTITY.PROPERTY, convert ENTITY.PROPERTY else VALUE "
    + "and convert ENTITY.PROPERTY else nothing"

  private static func statement(_ verb: String, _ words: inout Words) -> MigrationChoices.Statement.Kind? {
    guard let subject = words.next() else { return nil }
    let parts = subject.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
    let property = parts.count == 2 ? MigrationChoices.PropertyName(parts[0], parts[1]) : nil
    switch (verb, property) {
    case ("export", nil): return words.isAtEnd ? .export(subject) : nil
    case ("drop", nil): return words.isAtEnd ? .dropEntity(subject) : nil
    case ("drop", let property?): return words.isAtEnd ? .dropProperty(property) : nil
    case ("rename", _):
      guard words.next() == "to", let name = words.next(), words.isAtEnd, !name.contains(".") else { return nil }
      return property.map { .renameProperty($0, to: name) } ?? .renameEntity(subject, to: name)
    case ("default", let property?): return words.rest().map { .setDefault(property, $0) }
    case ("convert", let property?):
      if words.isAtEnd { return .convert(property, .refuse) }
      guard words.next() == "else" else { return nil }
      var probe = words
      if probe.next() == "nothing", probe.isAtEnd { return .convert(property, .nothing) }
      return words.rest().map { .convert(property, .value($0)) }
    default: return nil
    }
  }

  /// The words of a line, up to a `#` that begins one.
  private struct Words {
    private var left: Substring

    init(_ line: Substring) { left = line.trimmedBlanks }

    var isAtEnd: Bool { left.isEmpty || left.hasPrefix("#") }

    mutating func next() -> String? {
      if isAtEnd { return nil }
      let word = left.prefix { !$0.isBlank }
      left = left.dropFirst(word.count).trimmedBlanks
      return String(word)
    }

    /// The rest of the line as one value; quotes around it keep blanks, `#`, and the word `nothing`.
    mutating func rest() -> String? {
      if isAtEnd { return nil }
      if left.hasPrefix("\""), let end = left.dropFirst().firstIndex(of: "\"") {
        let value = left[left.index(after: left.startIndex)..<end]
        left = left[left.index(after: end)...].trimmedBlanks
        return isAtEnd ? String(value) : nil
      }
      var value = ""
      while let word = next() { value += value.isEmpty ? word : " " + word }
      return value
    }
  }
}

extension Character {
  fileprivate var isBlank: Bool { self == " " || self == "\t" || self == "\r" }
}

extension Substring {
  fileprivate var trimmedBlanks: Substring {
    var text = self
    while text.first?.isBlank == true { text.removeFirst() }
    while text.last?.isBlank == true { text.removeLast() }
    return text
  }
}
