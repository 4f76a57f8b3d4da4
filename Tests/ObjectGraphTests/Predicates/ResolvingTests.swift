import Foundation
import ObjectGraph
import Testing

@Suite("Resolving a condition")
struct ResolvingTests {
  private static func person() throws -> (ManagedObjectModel, Entity) {
    var secret = AttributeDescription("secret", .string)
    secret.isTransient = true
    let model = try ManagedObjectModel([
      EntityDescription(
        "Person",
        attributes: [
          AttributeDescription("name", .string), AttributeDescription("age", .integer16),
          AttributeDescription("born", .date), AttributeDescription("token", .uuid),
          AttributeDescription("wealth", .decimal), AttributeDescription("icon", .binary), secret,
        ],
        relationships: [
          RelationshipDescription("boss", to: "Person", inverse: "staff"),
          RelationshipDescription("staff", to: "Person", inverse: "boss", isToMany: true),
        ])
    ])
    return (model, try #require(model.entitiesByName["Person"]))
  }

  @Test(
    "fits constants to the attribute's type and puts them on the right",
    arguments: [
      ("5 < age", "age > 5"), ("age < 70000", "age < 70000"), ("age == 2.0", "age == 2"), ("age > 2.5", "age > 2.5"),
      ("nil == boss.name", "boss.name == nil"), ("name != nil", "NOT (name == nil)"), ("name < nil", "FALSEPREDICATE"),
      ("1 == 1", "TRUEPREDICATE"), ("'B' ==[c] 'b'", "TRUEPREDICATE"), ("2 < 1.5", "FALSEPREDICATE"),
      ("wealth > '0.10'", "wealth > 0.1"), ("age IN {1, nil}", "age == nil OR age IN {1}"),
      ("born > '2001-01-01T00:00:00Z'", "born > \"2001-01-01T00:00:00Z\""),
      ("age BETWEEN {1, boss.age}", "age >= 1 AND age <= boss.age"),
    ])
  func fitting(format: String, expected: String) throws {
    let (model, entity) = try Self.person()
    let condition = try Condition(format: format).resolved(for: entity)
    #expect(condition.description == expected)
    withExtendedLifetime(model) {}
  }

  @Test(
    "refuses what does not fit and quotes it",
    arguments: [
      ("nmae = 'x'", "Person has no property \"nmae\"; did you mean \"name\"?: nmae"),
      ("boss.agee = 1", "Person has no property \"agee\"; did you mean \"age\"?: boss.agee"),
      ("name.age = 1", "Person.name is an attribute, so nothing can follow it in a key path: name.age"),
      (
        "staff.name = 'x'",
        "Person.staff is a to-many relationship, which takes ANY, ALL, NONE, @count or SUBQUERY: staff.name"
      ),
      ("secret = 'x'", "Person.secret is transient, so a store knows nothing of it: secret"),
      ("age = 'x'", "\"x\" can't be compared with an integer: age == \"x\""),
      ("token = 'x'", "\"x\" can't be compared with a UUID: token == \"x\""),
      ("age CONTAINS 'x'", "CONTAINS compares texts, not an integer: age CONTAINS \"x\""),
      ("age =[c] 1", "[c] is for texts, not for an integer: age ==[c] 1"),
      ("name = age", "a text can't be compared with an integer: name == age"),
      ("name MATCHES '('", "the regular expression can't be read: name MATCHES \"(\""),
      ("name MATCHES boss.name", "the pattern of MATCHES must be a constant: name MATCHES boss.name"),
      ("age = $x", "the variable has no value; give it one with substituting(_:): $x"),
    ])
  func refusing(format: String, message: String) throws {
    let (model, entity) = try Self.person()
    let condition = try Condition(format: format)
    let error = #expect(throws: ConditionError.self) { try condition.resolved(for: entity) }
    #expect(error?.description == message)
    withExtendedLifetime(model) {}
  }

  @Test("refuses a tree too deep to walk")
  func depth() throws {
    let (model, entity) = try Self.person()
    var condition = Condition.constant(true)
    for _ in 0..<256 { condition = .not(condition) }
    #expect(throws: Never.self) { try condition.resolved(for: entity) }
    let error = #expect(throws: ConditionError.self) { try Condition.not(condition).resolved(for: entity) }
    #expect(error?.description == "the predicate is nested more than 256 deep")
    withExtendedLifetime(model) {}
  }
}
