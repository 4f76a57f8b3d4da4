import Foundation
import ObjectModel
import Testing

@Suite("Warnings about a model")
struct ModelWarningTests {
  private func warnings(_ elements: String) throws -> [String] {
    try model(elements).warnings.map { $0.description.replacing("M/contents", with: "") }
  }

  @Test("What Core Data writes and takes is worth no warning")
  func none() throws {
    let warnings = try warnings(
      """
      <entity name="E" representedClassName="E" syncable="YES" codeGenerationType="category" isAbstract="NO"
          coreSpotlightDisplayNameExpression="a" futureFlag="YES">
        <attribute name="a" optional="YES" attributeType="String" spotlightIndexingEnabled="YES" syncable="YES"
          allowsCloudEncryption="YES" storedInTruthFile="YES" indexed="YES" someKey="42"/>
        <attribute name="b" optional="YES" attributeType="Transformable" valueTransformerName="T" customClassName=".B"/>
        <relationship name="r" optional="YES" toMany="YES" indexed="YES" syncable="YES" destinationEntity="E"
          deletionRule="nullify"/>
        <relationship name="s" optional="YES" minCount="" maxCount="1" destinationEntity="E"/>
        <future name="x"><deeper/></future>
        <fetchIndex name="byPropertyID"><fetchIndexElement property="self" type="RTree" order="descending"/></fetchIndex>
      </entity>
      <elements><element name="E" positionX="0" positionY="0" width="0" height="0"/></elements>
      """)
    #expect(warnings == [])
  }

  @Test("An inverse that has another inverse is passed over, and the pair that agrees stays")
  func contradictingInverse() throws {
    let model = try model(
      """
      <entity name="Comment">
      <relationship name="sites" toMany="YES" destinationEntity="Topic" inverseName="cards"/></entity>
      <entity name="Topic"><relationship name="cards" toMany="YES" destinationEntity="Card" inverseName="sites"/></entity>
      <entity name="Card"><relationship name="sites" toMany="YES" destinationEntity="Topic" inverseName="cards"/></entity>
      """)
    let comment = try #require(model.entitiesByName["Comment"]?.property(named: "sites"))
    let card = try #require(model.entitiesByName["Card"]?.property(named: "sites"))
    #expect(comment.inverse == nil && comment.joinTable != nil && comment.destination?.name == "Topic")
    #expect(card.inverse === model.entitiesByName["Topic"]?.property(named: "cards"))
    #expect(
      model.warnings.map(\.description) == [
        "M/contents:3: Comment.sites: its inverse \"Topic.cards\" has the inverse \"Card.sites\"; "
          + "it has no inverse then"
      ])
  }

  @Test("An inverse that only one end names is that of both")
  func oneSidedInverse() throws {
    let model = try model(
      """
      <entity name="A"><relationship name="bs" toMany="YES" destinationEntity="B" inverseName="a"/></entity>
      <entity name="B"><relationship name="a" destinationEntity="A"/></entity>
      """)
    let many = try #require(model.entitiesByName["A"]?.property(named: "bs"))
    #expect(many.inverse?.name == "a" && many.inverse?.inverse === many && many.joinTable == nil)
    #expect(
      model.warnings.map(\.description) == [
        "M/contents:3: B.a: has no inverse but is that of \"A.bs\", which becomes its inverse"
      ])
  }

  @Test("An inverse that leads back to a subentity only, or is no relationship, is passed over at both ends")
  func narrowInverse() throws {
    let model = try model(
      """
      <entity name="P"><relationship name="r" destinationEntity="D" inverseName="x"/>
      <attribute name="t" attributeType="String"/></entity>
      <entity name="C" parentEntity="P"/>
      <entity name="D"><relationship name="x" destinationEntity="C" inverseName="r"/>
      <relationship name="y" destinationEntity="P" inverseName="t"/></entity>
      """)
    for entity in model.entities {
      for property in entity.properties { #expect(property.inverse == nil) }
    }
    #expect(model.warnings.count == 3)
  }

  @Test(
    "What names something that is not there, or can't be, is passed over with its line",
    arguments: [
      (
        "<entity name=\"E\">\n<relationship name=\"r\"/></entity>",
        ":3: E.r: the relationship has no destination entity and is ignored"
      ),
      (
        "<entity name=\"E\">\n<fetchedProperty name=\"f\"><fetchRequest entity=\"G\"/></fetchedProperty></entity>",
        ":3: E.f: fetches the entity \"G\", which does not exist, and is ignored"
      ),
      (
        "<entity name=\"E\"/><fetchRequest name=\"f\" entity=\"X\"/>",
        ": the fetch request \"f\" is of the entity \"X\", which does not exist; it is ignored"
      ),
      (
        "<configuration name=\"C\"><memberEntity name=\"E\"/></configuration>",
        ": configuration \"C\" lists the entity \"E\", which does not exist; it is ignored"
      ),
      (
        "<entity name=\"E\"><uniquenessConstraints><uniquenessConstraint/></uniquenessConstraints></entity>",
        ":2: E: a uniqueness constraint names no property and is ignored"
      ),
      (
        "<entity name=\"E\"><relationship name=\"m\" toMany=\"YES\" destinationEntity=\"E\"/>"
          + "<fetchIndex name=\"byMIndex\"><fetchIndexElement property=\"m\"/></fetchIndex></entity>",
        ":2: E: the index \"byMIndex\" names \"m\", which is to-many; it is ignored"
      ),
      (
        "<entity name=\"E\"><attribute name=\"t\" transient=\"YES\"/>"
          + "<fetchIndex name=\"i\"><fetchIndexElement property=\"t\"/></fetchIndex></entity>",
        ":2: E: the index \"i\" names \"t\", which is not stored; it is ignored"
      ),
      (
        "<entity name=\"E\"><fetchIndex name=\"i\"><fetchIndexElement property=\"a\"/></fetchIndex></entity>",
        ":2: E: the index \"i\" names \"a\", which does not exist; it is ignored"
      ),
      (
        "<entity name=\"E\"><fetchIndex name=\"i\">\n<fetchIndexElement expression=\"a + b\" type=\"Binary\"/>"
          + "</fetchIndex></entity>", ":3: E: the index \"i\" is over the expression \"a + b\", which is ignored"
      ),
    ])
  func passedOver(elements: String, warning: String) throws {
    #expect(try warnings(elements) == [warning])
    let model = try model(elements)
    #expect(model.entities.allSatisfy { $0.properties.allSatisfy { $0.name == "m" || $0.name == "t" } })
    #expect(model.entities.allSatisfy { $0.entityDescription.fetchIndexes.isEmpty })
    #expect(model.fetchRequestTemplates.isEmpty)
    #expect(model.entities.allSatisfy { $0.entityDescription.fetchedProperties.isEmpty })
  }

  @Test("What is marked as indexed gets the index that the editor would make of it, no part of the version hash")
  func oldIndexes() throws {
    let plain = """
      <attribute name="a" attributeType="String" INDEXED/><attribute name="b" attributeType="Date" INDEXED/>
      <attribute name="t" attributeType="Date" transient="YES" INDEXED/>
      <relationship name="one" destinationEntity="E" INDEXED/>
      <relationship name="many" toMany="YES" destinationEntity="E" INDEXED/>
      <fetchIndex name="mine"><fetchIndexElement property="b"/></fetchIndex>
      """
    let old = try model(
      """
      <entity name="E">\(plain.replacing("INDEXED", with: "indexed=\"YES\""))
      <compoundIndexes><compoundIndex><index value="a"/><index value="b"/></compoundIndex>
      <compoundIndex><index value="b"/></compoundIndex></compoundIndexes></entity>
      """)
    let indexes = old.entities[0].entityDescription.fetchIndexes
    #expect(indexes.map(\.name) == ["mine", "byABIndex", "byAIndex", "byOneIndex"])
    #expect(indexes.map { $0.elements.map(\.property) } == [["b"], ["a", "b"], ["a"], ["one"]])
    #expect(old.warnings.isEmpty)
    let new = try model("<entity name=\"E\">\(plain.replacing("INDEXED", with: ""))</entity>")
    #expect(new.entities[0].versionHash == old.entities[0].versionHash)
  }

  @Test("A merged model has the warnings of all, and a model in code has none")
  func merging() throws {
    let first = try model("<entity name=\"A\"><relationship name=\"r\"/></entity>")
    let second = try model("<entity name=\"B\"><relationship name=\"r\"/></entity>")
    #expect(try ManagedObjectModel(merging: [first, second]).warnings.count == 2)
    #expect(try ManagedObjectModel(first.entities.map(\.entityDescription)).warnings.isEmpty)
  }

  @Test("Contradictions of descriptions in code stay errors")
  func descriptionsInCode() {
    let one = EntityDescription("A", relationships: [RelationshipDescription("r", to: "A", inverse: "s")])
    #expect(throws: ModelError.self) { try ManagedObjectModel([one]) }
    var two = EntityDescription("A", relationships: [RelationshipDescription("r", to: "A", isToMany: true)])
    two.fetchIndexes = [.init(name: "i", elements: [.init(property: "r")])]
    #expect(throws: ModelError.self) { try ManagedObjectModel([two]) }
  }
}
