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
    "A default that is not wholly of the attribute's type is an error",
    arguments: [
      ("Integer 16", "32768"), ("Integer 32", "1.0"), ("Integer 64", "9223372036854775808"), ("Integer 64", ""),
      ("Decimal", "12abc"), ("Decimal", "1e999"), ("Decimal", ""), ("Double", "nan"), ("Double", "inf"),
      ("Float", "1e39"), ("Boolean", "maybe"), ("Date", "tomorrow"), ("Date", "nan"), ("Binary", "%"), ("UUID", "1-2"),
      ("URI", ""),
    ])
  func badDefaults(type: String, text: String) {
    let error = modelError(
      """
      <entity name="E">
      <attribute name="a" attributeType="\(type)" defaultValueString="\(text)"/></entity>
      """)
    #expect(error?.code == .invalidValue)
    #expect(
      error?.description
        == "M/contents:3: E.a: defaultValueString \"\(text)\" is no \(type)")
  }
}
