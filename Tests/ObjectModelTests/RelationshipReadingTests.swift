import ObjectModel
import Testing

@Suite("Reading relationships")
struct RelationshipReadingTests {
  @Test("A to-one and a to-many relationship are tied to each other and to their entities")
  func inverses() throws {
    let model = try model(
      """
      <entity name="Team">
        <relationship name="members" optional="YES" toMany="YES" minCount="2" maxCount="11" destinationEntity="Person"
          inverseName="team"/>
      </entity>
      <entity name="Person">
        <relationship name="team" maxCount="1" deletionRule="Deny" destinationEntity="Team" inverseName="members"/>
      </entity>
      """)
    let members = try #require(model.entitiesByName["Team"]?.property(named: "members"))
    let team = try #require(model.entitiesByName["Person"]?.property(named: "team"))
    #expect(members.destination?.name == "Person")
    #expect(members.inverse === team)
    #expect(team.inverse === members)
    #expect(members.storage == .toMany && !members.isPersistent)
    #expect(team.storage == .reference && team.isPersistent)
    #expect(members.isOptional && !team.isOptional)
    #expect(members.relationship?.minimumCount == 2)
    #expect(members.relationship?.maximumCount == 11)
    #expect(team.relationship?.maximumCount == 0)
    #expect(team.relationship?.deleteRule == .deny)
  }

  @Test("Each delete rule is read", arguments: ["No Action", "Nullify", "Cascade", "Deny"])
  func deleteRules(rule: String) throws {
    let model = try model(
      "<entity name=\"E\"><relationship name=\"r\" destinationEntity=\"E\" deletionRule=\"\(rule)\"/></entity>")
    #expect(model.entities[0].properties[0].relationship?.deleteRule.rawValue == rule)
  }

  @Test("Order, transience, renaming and user info of a relationship are read")
  func flags() throws {
    let model = try model(
      """
      <entity name="E">
      <relationship name="r" toMany="YES" ordered="YES" destinationEntity="E" inverseName="s" elementID="old"
        versionHashModifier="x"><userInfo><entry key="k" value="v"/></userInfo></relationship>
      <relationship name="s" transient="YES" destinationEntity="E" inverseName="r"/></entity>
      """)
    let relationship = try #require(model.entities[0].property(named: "r")?.relationship)
    #expect(relationship.isOrdered)
    #expect(relationship.renamingIdentifier == "old")
    #expect(relationship.versionHashModifier == "x")
    #expect(relationship.userInfo == ["k": "v"])
    #expect(model.entities[0].property(named: "s")?.isPersistent == false)
  }

  @Test("An inherited relationship keeps its inverse in every subentity, also where it is its own inverse")
  func inherited() throws {
    let model = try model(
      """
      <entity name="Cat" parentEntity="Animal"/>
      <entity name="Animal">
        <relationship name="friends" toMany="YES" destinationEntity="Animal" inverseName="friends"/>
        <relationship name="home" destinationEntity="House" inverseName="animals"/>
      </entity>
      <entity name="House">
        <relationship name="animals" toMany="YES" destinationEntity="Animal" inverseName="home"/>
      </entity>
      """)
    let cat = try #require(model.entitiesByName["Cat"])
    #expect(cat.property(named: "home")?.inverse?.name == "animals")
    #expect(cat.property(named: "friends")?.inverse?.name == "friends")
  }
}
