import Foundation
import ObjectGraph
import Testing

@Suite("Evaluating a condition in memory")
struct EvaluationTests {
  @Test(
    "knows two truth values, nil or not",
    arguments: [
      // Condition, its truth for nil, for "b".
      ("name == nil", true, false), ("name != nil", false, true), ("name == 'b'", false, true),
      ("name != 'b'", true, false), ("name < 'c'", false, true), ("NOT name < 'c'", true, false),
      ("name >= 'c'", false, false), ("NOT name >= 'c'", true, true), ("name IN {'a', 'b'}", false, true),
      ("NOT name IN {'a', 'b'}", true, false), ("name IN {nil}", true, false), ("name BETWEEN {'a', 'c'}", false, true),
      ("NOT name BETWEEN {'a', 'c'}", true, false), ("name CONTAINS ''", false, true),
      ("NOT name LIKE '*'", true, false),
      ("name MATCHES '[ab]'", false, true), ("name ==[c] 'B'", false, true), ("name == name", true, true),
      ("boss.name == nil", true, true), ("boss.name != name", false, true), ("boss.name < name", false, false),
    ])
  func truth(format: String, ofNil: Bool, ofText: Bool) throws {
    let model = try ManagedObjectModel([
      EntityDescription(
        "Person", attributes: [AttributeDescription("name", .string)],
        relationships: [RelationshipDescription("boss", to: "Person")])
    ])
    let entity = try #require(model.entitiesByName["Person"])
    let condition = try Condition(format: format).resolved(for: entity)
    let evaluator = try ConditionEvaluator(condition, entity: entity, related: { _ in nil })
    let id = ManagedObjectID(key: 1, entity: entity, coordinatorOrdinal: 0)
    var row = Row(RowLayout(entity))
    #expect(try evaluator.matches(id: id, row: row) == ofNil)
    row.setText("b", try #require(entity.property(named: "name")).slot)
    #expect(try evaluator.matches(id: id, row: row) == ofText)
  }
}
