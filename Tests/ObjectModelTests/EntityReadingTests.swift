import Foundation
import ObjectModel
import Testing

@Suite("Reading entities")
struct EntityReadingTests {
  @Test("A subentity has its inherited properties first, in the slots they have in the parent")
  func inheritance() throws {
    let model = try model(
      """
      <entity name="Kitten" parentEntity="Cat"><attribute name="weeks" attributeType="Integer 16"/></entity>
      <entity name="Cat" parentEntity="Animal"><attribute name="lives" attributeType="Integer 16"/></entity>
      <entity name="Animal" isAbstract="YES">
        <attribute name="name" attributeType="String"/>
        <relationship name="rival" destinationEntity="Animal"/>
      </entity>
      """)
    #expect(model.entities.map(\.name) == ["Animal", "Cat", "Kitten"])
    let animal = try #require(model.entitiesByName["Animal"])
    let kitten = try #require(model.entitiesByName["Kitten"])
    #expect(kitten.properties.map(\.name) == ["name", "rival", "lives", "weeks"])
    #expect(kitten.properties.map(\.slot) == [0, 1, 2, 3])
    #expect(kitten.properties.map(\.declaringEntity) == ["Animal", "Animal", "Cat", "Kitten"])
    #expect(kitten.root === animal && animal.root === animal)
    #expect(kitten.isKind(of: animal) && !animal.isKind(of: kitten))
    #expect(animal.withDescendants.map(\.name) == ["Animal", "Cat", "Kitten"])
    #expect(animal.isAbstract && !kitten.isAbstract)
    #expect(kitten.isInHierarchy)
  }

  @Test("Constraints, indexes, fetched properties, user info and modifiers are read")
  func parts() throws {
    let entity = try #require(
      try model(
        """
        <entity name="E" elementID="Old" versionHashModifier="3">
          <attribute name="a" attributeType="String"/>
          <attribute name="b" attributeType="String"/>
          <fetchedProperty name="others" optional="YES">
            <fetchRequest name="others" entity="E" predicateString="a != b"/>
          </fetchedProperty>
          <fetchIndex name="byA">
            <fetchIndexElement property="a" type="Binary" order="descending"/>
            <fetchIndexElement property="b" type="Binary" order="ascending"/>
            <fetchIndexElement expression="a + b" type="Binary" order="ascending"/>
          </fetchIndex>
          <uniquenessConstraints>
            <uniquenessConstraint><constraint value="a"/><constraint value="b"/></uniquenessConstraint>
            <uniquenessConstraint><constraint value="b"/></uniquenessConstraint>
          </uniquenessConstraints>
          <userInfo><entry key="k" value="v"/></userInfo>
        </entity>
        """
      ).entities.first?.entityDescription)
    #expect(entity.uniquenessConstraints == [["a", "b"], ["b"]])
    #expect(
      entity.fetchIndexes == [
        .init(name: "byA", elements: [.init(property: "a", isAscending: false), .init(property: "b")])
      ])
    #expect(entity.fetchedProperties == [.init(name: "others", entity: "E", predicate: "a != b")])
    #expect(entity.userInfo == ["k": "v"])
    #expect(entity.renamingIdentifier == "Old")
    #expect(entity.versionHashModifier == "3")
  }

  @Test(
    "A class name is read without its module, and NSManagedObject is no class",
    arguments: [
      ("Person", "Person"), (".Person", "Person"), ("Staff.Person", "Person"), ("NSManagedObject", nil), ("", nil),
    ] as [(String, String?)])
  func classNames(spelled: String, read: String?) throws {
    let model = try model("<entity name=\"E\" representedClassName=\"\(spelled)\"/>")
    #expect(model.entities[0].entityDescription.className == read)
  }

  @Test("Configurations and version identifiers are read")
  func configurations() throws {
    let xml = """
      <model userDefinedModelVersionIdentifier="1,beta"><entity name="A"/><entity name="B"/>
      <configuration name="Local"><memberEntity name="A"/><memberEntity name="B"/></configuration>
      <configuration name="None"/></model>
      """
    let model = try ManagedObjectModel(xml: .init(xml.utf8))
    #expect(model.configurations == ["Local": ["A", "B"], "None": []])
    #expect(model.versionIdentifiers == ["1", "beta"])
  }

  @Test("Fetch requests are read with their settings")
  func fetchRequests() throws {
    let model = try model(
      """
      <entity name="E"/>
      <fetchRequest name="All" entity="E"/>
      <fetchRequest name="Some" entity="E" predicateString="a == $A" fetchLimit="3" fetchBatchSize="20"
        includesSubentities="NO" includesPropertyValues="NO" returnObjectsAsFaults="NO" returnDistinctResults="YES"/>
      """)
    var some = FetchRequestTemplate("Some", entity: "E", predicate: "a == $A")
    some.fetchLimit = 3
    some.fetchBatchSize = 20
    some.includesSubentities = false
    some.includesPropertyValues = false
    some.returnsObjectsAsFaults = false
    some.returnsDistinctResults = true
    #expect(model.fetchRequestTemplates == ["All": FetchRequestTemplate("All", entity: "E"), "Some": some])
  }

  @Test(
    "Derivations are read in each of their spellings",
    arguments: [
      ("n", "copy", [], "n"), ("one.n", "copy", ["one"], "n"), ("canonical:(one.n)", "canonical", ["one"], "n"),
      ("many.@count", "count", ["many"], nil), ("count:(many)", "count", ["many"], nil),
      ("many.@max.n", "max", ["many"], "n"), ("many.n.@min", "min", ["many"], "n"),
      ("one.many.@count", "count", ["one", "many"], nil), ("now( )", "now", [], nil),
    ] as [(String, String, [String], String?)])
  func derivations(text: String, operation: String, relationships: [String], attribute: String?) throws {
    let type = operation == "now" ? "Date" : operation == "count" ? "Integer 64" : "String"
    let model = try model(
      """
      <entity name="E"><attribute name="n" attributeType="String"/>
        <attribute name="d" optional="YES" attributeType="\(type)" derived="YES" derivationExpression="\(text)"/>
        <relationship name="many" toMany="YES" destinationEntity="E" inverseName="one"/>
        <relationship name="one" destinationEntity="E" inverseName="many"/></entity>
      """)
    let derivation = try #require(model.entities[0].property(named: "d")?.derivation)
    #expect(derivation.operation.rawValue == operation && derivation.relationships == relationships)
    #expect(derivation.attribute == attribute)
  }

  @Test("Elements that stand where the format has none are passed over")
  func strayElements() throws {
    let model = try model(
      """
      <uniquenessConstraints><uniquenessConstraint><constraint value="x"/></uniquenessConstraint></uniquenessConstraints>
      <attribute name="a" attributeType="Nonsense"/><fetchIndex name="i"><fetchIndexElement property="a"/></fetchIndex>
      <memberEntity name="E"/><userInfo><entry key="a" value="b"/></userInfo>
      <elements><element name="E" positionX="0" positionY="0" width="128" height="44"/></elements>
      <entity name="E"><constraint value="x"/><fetchIndexElement property="a"/><fetchRequest entity="E"/>
      <composite name="c"><attribute name="d" attributeType="String"><userInfo><entry key="a" value="b"/></userInfo>
      </attribute></composite></entity>
      """)
    #expect(model.entities.map(\.entityDescription) == [EntityDescription("E")])
  }

  @Test("The version hash changes with what shapes stored data and with nothing else")
  func versionHash() throws {
    func hash(_ attributes: String) throws -> VersionHash {
      try model("<entity name=\"E\">\(attributes)</entity>").entities[0].versionHash
    }
    let first = try hash(
      "<attribute name=\"a\" attributeType=\"String\"/><attribute name=\"b\" attributeType=\"Date\"/>")
    let swapped = try hash(
      "<attribute name=\"b\" attributeType=\"Date\"/><attribute name=\"a\" attributeType=\"String\" maxValueString=\"9\"/>"
    )
    let optional = try hash(
      "<attribute name=\"a\" optional=\"YES\" attributeType=\"String\"/><attribute name=\"b\" attributeType=\"Date\"/>")
    #expect(first == swapped)
    #expect(first != optional)
  }
}
