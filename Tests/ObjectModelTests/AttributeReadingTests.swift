import Foundation
import ObjectModel
import Testing

@Suite("Reading attributes")
struct AttributeReadingTests {
  private func attribute(_ xml: String) throws -> AttributeDescription {
    let entity = try #require(try model("<entity name=\"E\"><attribute name=\"a\" \(xml)</entity>").entitiesByName["E"])
    return try #require(entity.property(named: "a")?.attribute)
  }

  @Test(
    "Every attribute type is read with its default and lies in its storage class",
    arguments: [
      (AttributeType.integer16, "-32768", Value.integer(-32768), StorageClass.integer),
      (.integer32, "2147483647", .integer(2_147_483_647), .integer),
      (.integer64, "9223372036854775807", .integer(.max), .integer),
      (.decimal, "-12.50", .decimal(Decimal(sign: .minus, exponent: -1, significand: 125)), .text),
      (.double, "2.5", .double(2.5), .real),
      (.float, "0.5", .double(0.5), .real),
      (.string, "a &amp; b", .string("a & b"), .text),
      (.boolean, "YES", .boolean(true), .integer),
      (.date, "86400.5", .date(Date(timeIntervalSinceReferenceDate: 86400.5)), .real),
      (.binary, "AQI=", .data(Data([1, 2])), .blob),
      (.transformable, "AQI=", .data(Data([1, 2])), .blob),
      (.uri, "https://example.org/a?b", .url(URL(string: "https://example.org/a?b")!), .text),
      (
        .uuid, "6F9619FF-8B86-D011-B42D-00CF4FC964FF",
        .uuid(UUID(uuidString: "6F9619FF-8B86-D011-B42D-00CF4FC964FF")!), .bytes
      ),
    ])
  func types(type: AttributeType, text: String, value: Value, storage: StorageClass) throws {
    let attribute = try attribute("attributeType=\"\(type.rawValue)\" defaultValueString=\"\(text)\"/>")
    #expect(attribute.type == type)
    #expect(attribute.defaultValue == value)
    #expect(type.storage == storage)
  }

  @Test("An attribute without flags is required, persistent, without default and without limits")
  func plain() throws {
    #expect(try attribute("attributeType=\"String\"/>") == AttributeDescription("a", .string, isOptional: false))
  }

  @Test("Every flag and rule of an attribute is read")
  func flags() throws {
    let read = try attribute(
      """
      attributeType="String" optional="YES" transient="YES" usesScalarValueType="YES" minValueString="2"
      maxValueString="9" regularExpressionString="[a-z]+" allowsExternalBinaryDataStorage="YES"
      preserveAfterDeletion="YES" customClassName="C"
      valueTransformerName="T" elementID="old" versionHashModifier="2">
      <userInfo><entry key="k" value="v"/><entry key="empty" value=""/></userInfo></attribute>
      """)
    var expected = AttributeDescription("a", .string)
    expected.isTransient = true
    expected.usesScalarValue = true
    expected.minimum = 2
    expected.maximum = 9
    expected.pattern = "[a-z]+"
    expected.allowsExternalBinaryDataStorage = true
    expected.preservesValueInHistoryOnDeletion = true
    expected.customClassName = "C"
    expected.valueTransformerName = "T"
    expected.renamingIdentifier = "old"
    expected.versionHashModifier = "2"
    expected.userInfo = ["k": "v", "empty": ""]
    #expect(read == expected)
  }

  @Test("A date's default and limits come from the intervals")
  func dates() throws {
    let date = try attribute(
      """
      attributeType="Date" defaultDateTimeInterval="10" minDateTimeInterval="-5" maxDateTimeInterval="20"/>
      """)
    #expect(date.defaultValue == .date(Date(timeIntervalSinceReferenceDate: 10)))
    #expect(date.minimum == .date(Date(timeIntervalSinceReferenceDate: -5)))
    #expect(date.maximum == .date(Date(timeIntervalSinceReferenceDate: 20)))
  }

  @Test(
    "A default is read as Core Data reads it, and another spelling of the same value is worth no warning",
    arguments: [
      ("Integer 64", "0.0", Value.integer(0)), ("Integer 32", "1.0", .integer(1)), ("Integer 16", " 7", .integer(7)),
      ("Integer 64", "", .integer(0)), ("Integer 64", "1e2", .integer(1)), ("Boolean", "0.0", .boolean(false)),
      ("Boolean", "1.0", .boolean(true)), ("Boolean", "", .boolean(false)), ("Double", ".5", .double(0.5)),
      ("Double", "", .double(0)), ("Float", "", .double(0)), ("Decimal", "0.0", .decimal(0)), ("Decimal", "", .null),
      ("String", "", .string("")), ("UUID", "", .null), ("URI", "", .null), ("Date", "", .null),
    ])
  func lenientDefaults(type: String, text: String, value: Value) throws {
    let model = try model(
      "<entity name=\"E\"><attribute name=\"a\" attributeType=\"\(type)\" defaultValueString=\"\(text)\"/></entity>")
    #expect(model.entities[0].property(named: "a")?.attribute?.defaultValue == value)
    #expect(model.warnings.isEmpty == (text != "1e2"))
  }

  @Test(
    "A default that says something else than Core Data makes of it is a warning with its line",
    arguments: [
      ("Integer 16", "YES", Value.integer(0), "it counts as 0, as in Core Data"),
      ("Integer 64", "NO", .integer(0), "it counts as 0, as in Core Data"),
      ("Integer 16", "32768", .integer(32767), "it counts as 32767, as in Core Data"),
      ("Integer 64", "9223372036854775808", .integer(.max), "it counts as 9223372036854775807, as in Core Data"),
      ("Integer 32", "-2.5", .integer(-2), "it counts as -2, as in Core Data"),
      ("Decimal", "12abc", .decimal(12), "it counts as 12, as in Core Data"),
      ("Decimal", "1e999", .null, "there is no default then"),
      ("Double", "nan", .double(0), "it counts as 0.0, as in Core Data"),
      ("Float", "1e39", .null, "there is no default then"),
      ("Boolean", "maybe", .boolean(false), "it counts as NO, as in Core Data"),
      ("Boolean", "Yup", .boolean(true), "it counts as YES, as in Core Data"),
      ("Date", "NO", .null, "there is no default then"), ("Date", "nan", .null, "there is no default then"),
      ("Binary", "%", .null, "there is no default then"), ("UUID", "empy", .null, "there is no default then"),
    ])
  func oddDefaults(type: String, text: String, value: Value, meaning: String) throws {
    let model = try model(
      """
      <entity name="E">
      <attribute name="a" attributeType="\(type)" defaultValueString="\(text)"/></entity>
      """)
    #expect(model.entities[0].property(named: "a")?.attribute?.defaultValue == value)
    #expect(
      model.warnings.map(\.description) == [
        "M/contents:3: E.a: defaultValueString \"\(text)\" is no \(type); \(meaning)"
      ])
  }

  @Test("A limit begins with a number or is none")
  func lenientLimits() throws {
    let model = try model(
      """
      <entity name="E"><attribute name="a" attributeType="Integer 16" minValueString="1.0" maxValueString="9 apples"/>
      <attribute name="b" attributeType="Double" minValueString="low" maxValueString=""/>
      <attribute name="c" attributeType="Boolean" minValueString="0"/></entity>
      """)
    let attributes = model.entities[0].entityDescription.attributes
    #expect(attributes.map(\.minimum) == [1, .null, .null])
    #expect(attributes.map(\.maximum) == [9, .null, .null])
    #expect(
      model.warnings.map(\.description) == [
        "M/contents:3: E.b: minValueString \"low\" is no Double; there is no such limit then"
      ])
  }

  @Test(
    "A transient attribute needs no type",
    arguments: ["", "attributeType=\"\"", "attributeType=\"Undefined\"", "attributeType=\"Object ID\""])
  func undefined(type: String) throws {
    let attribute = try attribute("\(type) optional=\"YES\" transient=\"YES\" defaultValueString=\"x\"/>")
    #expect(attribute.type == .undefined && attribute.defaultValue == .null && attribute.isTransient)
  }

  @Test("A composite attribute is kept as its parts, and constraints and indexes name them by key path")
  func composites() throws {
    let model = try model(
      """
      <entity name="E"><attribute name="home" optional="YES" attributeType="Composite" compositeName="Address"
          elementID="house"/>
        <uniquenessConstraints><uniquenessConstraint><constraint value="home.city"/></uniquenessConstraint>
        </uniquenessConstraints>
        <fetchIndex name="i"><fetchIndexElement property="home.place.x"/></fetchIndex></entity>
      <composite name="Address"><attribute name="city" attributeType="String" elementID="town"/>
        <attribute name="place" compositeName="Point"/></composite>
      <compositeAttribute name="Point"><attribute name="x" attributeType="Double"/></compositeAttribute>
      """)
    let entity = model.entities[0]
    #expect(entity.properties.map(\.name) == ["home_city", "home_place_x"])
    #expect(entity.properties.map(\.isOptional) == [true, true])
    #expect(entity.properties.map { $0.attribute?.renamingIdentifier } == ["house_town", "house_place_x"])
    #expect(entity.entityDescription.uniquenessConstraints == [["home_city"]])
    #expect(entity.entityDescription.fetchIndexes.first?.elements.map(\.property) == ["home_place_x"])
    #expect(model.warnings.isEmpty)
  }
}
