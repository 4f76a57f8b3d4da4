import Foundation
import ObjectModel
import Testing

@Suite("Errors in a model")
struct ModelErrorTests {
  struct Case: CustomTestStringConvertible {
    let text: String
    let code: ModelError.Code
    let description: String
    var testDescription: String { description }

    init(_ text: String, _ code: ModelError.Code, _ description: String) {
      self.text = text
      self.code = code
      self.description = description
    }
  }

  @Test("What a program describes is checked as what a file holds, and nothing is mended")
  func described() throws {
    func message(_ entities: EntityDescription...) -> String? {
      #expect(throws: ModelError.self) { try ManagedObjectModel(entities) }?.description
    }
    var entity = EntityDescription("E", attributes: [AttributeDescription("a", .integer16)])
    entity.uniquenessConstraints = [[]]
    #expect(message(entity)?.hasSuffix("E: a uniqueness constraint names no property") == true)
    entity.uniquenessConstraints = []
    entity.attributes[0].defaultValue = "seven"
    #expect(message(entity)?.contains("E.a: the default ") == true)
    let there = RelationshipDescription("there", to: "B", inverse: "back")
    let other = RelationshipDescription("other", to: "B", inverse: "back")
    let back = RelationshipDescription("back", to: "A", inverse: "other")
    let both = message(
      EntityDescription("A", relationships: [there, other]), EntityDescription("B", relationships: [back]))
    #expect(both?.hasSuffix("A.there: its inverse \"B.back\" has the inverse \"A.other\"") == true, "\(both ?? "")")
  }

  private static let reference = #"<relationship name="r" destinationEntity="#

  /// A derived attribute of an entity with a text.
  private static func derived(
    _ type: String, _ expression: String, _ code: ModelError.Code, _ message: String
  ) -> Case {
    Case(
      "<entity name=\"E\"><attribute name=\"b\" attributeType=\"String\"/>\n<attribute name=\"a\" "
        + "attributeType=\"\(type)\" derived=\"YES\" derivationExpression=\"\(expression)\"/></entity>", code,
      ":3: E.a: the derivation \"\(expression)\" \(message)")
  }

  static let cases = [
    Case("<entity/>", .malformed, ":2: <entity> has no name"),
    Case(
      "<entity name=\"E\">\n<attribute attributeType=\"String\"/></entity>", .malformed,
      ":3: E: <attribute> has no name"),
    Case(
      "<entity name=\"E\">\n<attribute name=\"a\"/></entity>", .unknownType,
      ":3: E.a: the attribute has no type, which only transient ones need not have; choose its type"),
    Case(
      "<entity name=\"E\">\n\n<attribute name=\"a\" attributeType=\"Text\"/></entity>", .unknownType,
      ":4: E.a: the attribute type \"Text\" does not exist; there are Integer 16, Integer 32, Integer 64, Decimal, "
        + "Double, Float, String, Boolean, Date, Binary, UUID, URI, Transformable, Undefined"),
    Case(
      "<entity name=\"E\"><attribute name=\"a\" attributeType=\"Date\" derived=\"YES\"/></entity>", .malformed,
      ":2: E.a: <attribute> has no derivationExpression"),
    Case(
      "<entity name=\"E\">\n<attribute name=\"a\" attributeType=\"Composite\"/></entity>", .unresolvedReference,
      ":3: E.a: is of the composite \"\", which the model does not define"),
    Case(
      "<composite name=\"C\"><attribute name=\"c\" compositeName=\"C\"/></composite><entity name=\"E\">\n"
        + "<attribute name=\"a\" compositeName=\"C\"/></entity>", .contradiction,
      ":3: E.a: the composite \"C\" contains itself"),
    derived(
      "String", "reverse:(b)", .invalidValue,
      "can't be read; there are key paths, canonical:, lowercase:, "
        + "uppercase:, now(), and @count, @sum, @min, @max and @avg of a to-many relationship"),
    derived("String", "c", .unresolvedReference, "names \"c\", which is no attribute of E"),
    derived("Integer 16", "b.@count", .unresolvedReference, "names \"b\", which is no relationship of E"),
    derived("Date", "uppercase:(b)", .contradiction, "of String gives no Date"),
    derived("String", "now()", .contradiction, "gives no String"),
    Case("<entity name=\"E\"/>\n<entity name=\"E\"/>", .invalidName, ":3: E: the entity is defined twice"),
    Case(
      "<entity name=\"Ex\"/>\n<entity name=\"EX\"/>", .invalidName,
      ":3: EX: the name differs from \"Ex\" in case only, which a store can't tell apart"),
    Case(
      "<entity name=\"E\"><attribute name=\"a\" attributeType=\"Date\"/>\n\(reference)\"E\"/>\n"
        + "<relationship name=\"a\" destinationEntity=\"E\"/></entity>", .invalidName,
      ":4: E.a: the property is defined twice"),
    Case(
      "<entity name=\"P\"><attribute name=\"a\" attributeType=\"Date\"/></entity>\n"
        + "<entity name=\"E\" parentEntity=\"P\">\n<attribute name=\"a\" attributeType=\"Date\"/></entity>",
      .invalidName,
      ":4: E.a: the property is defined twice"),
    Case(
      "<entity name=\"9E\"/>", .invalidName,
      ":2: 9E: \"9E\" can't name an entity: a name begins with a letter or _ and has letters, digits and _ only"),
    Case(
      "<entity name=\"E\"><attribute name=\"a-b\" attributeType=\"Date\"/></entity>", .invalidName,
      ":2: E.a-b: \"a-b\" can't name a property: a name begins with a letter or _ and has letters, digits and _ only"),
    Case(
      "<entity name=\"E\"/>\n<entity name=\"F\" parentEntity=\"G\"/>", .unresolvedReference,
      ":3: F: inherits from the entity \"G\", which does not exist"),
    Case(
      "<entity name=\"A\" parentEntity=\"B\"/>\n<entity name=\"B\" parentEntity=\"A\"/>", .contradiction,
      ":2: A: inherits from itself (A < B < A)"),
    Case(
      "<entity name=\"E\">\n\(reference)\"F\"/></entity>", .unresolvedReference,
      ":3: E.r: the destination entity \"F\" does not exist"),
    Case(
      "<entity name=\"E\">\n\(reference)\"E\" deletionRule=\"Explode\"/></entity>", .invalidValue,
      ":3: E.r: the deletion rule \"Explode\" does not exist"),
    Case(
      "<entity name=\"E\">\n\(reference)\"E\" minCount=\"-1\"/></entity>", .invalidValue,
      ":3: E.r: minCount \"-1\" is no count"),
    Case(
      "<entity name=\"E\">\n\(reference)\"E\" toMany=\"YES\" inverseName=\"r\" minCount=\"3\" maxCount=\"2\"/></entity>",
      .contradiction, ":3: E.r: the minimum count is greater than the maximum count"),
    Case(
      "<entity name=\"E\">\n<attribute name=\"a\" attributeType=\"Double\" minValueString=\"2\" maxValueString=\"1\"/>"
        + "</entity>", .contradiction, ":3: E.a: the minimum is greater than the maximum"),
    Case(
      "<entity name=\"E\">\n<attribute name=\"a\" attributeType=\"String\" regularExpressionString=\"(\"/></entity>",
      .invalidValue, ":3: E.a: the regular expression \"(\" can't be read"),
    Case(
      "<entity name=\"E\"><uniquenessConstraints><uniquenessConstraint>\n<constraint value=\"a\"/>"
        + "</uniquenessConstraint></uniquenessConstraints></entity>", .unresolvedReference,
      ":2: E: a uniqueness constraint names \"a\", which does not exist"),
    Case(
      "<entity name=\"E\">\n<attribute name=\"a\" transient=\"YES\" attributeType=\"Date\"/><uniquenessConstraints>"
        + "<uniquenessConstraint><constraint value=\"a\"/></uniquenessConstraint></uniquenessConstraints></entity>",
      .unresolvedReference, ":3: E.a: a uniqueness constraint names \"a\", which has no column"),
  ]

  @Test("An error names file, line, entity and property", arguments: cases)
  func places(_ example: Case) throws {
    let error = try #require(modelError(example.text))
    #expect(error.description == "M/contents" + example.description)
    #expect(error.code == example.code)
  }

  @Test(
    "Text that is not a whole XML document of a model is an error with its line",
    arguments: [
      ("", 1), ("hello", 1), ("<x/>", 1), ("<model>\n<entity name=\"E\">\n<attr", 3), ("<model>\n</model", 2),
      ("<model>\n</entity>", 2), ("<model>\n<entity name=E/></model>", 2), ("<model>\u{0}</model>", 1),
      ("<model/>trailing", 1), ("<model>&unknown;</model>", 1),
    ])
  func malformed(text: String, line: Int) throws {
    let error = try #require(modelError(xml: Data(text.utf8)))
    #expect(error.code == .malformed)
    #expect(error.file == "M/contents")
    #expect(error.line == line)
  }

  @Test("A chain of parents of any length is an error, not a crash")
  func deepInheritance() throws {
    var text = "<entity name=\"E0\"/>"
    for index in 1...20_000 { text += "<entity name=\"E\(index)\" parentEntity=\"E\(index - 1)\"/>" }
    let reversed = text.split(separator: "<").reversed().map { "<" + $0 }.joined()
    #expect(modelError(reversed)?.code == .contradiction)
  }
}
