import Foundation
import ObjectModel
import Testing

@Suite("All that is wrong with a model")
struct ModelReviewTests {
  private func errors(_ elements: String) -> [String] {
    ModelReview(xml: modelXML(elements), file: "M").errors.map(\.description)
  }

  @Test("Elements that can't be read are told one by one, and those inside them are passed over")
  func elements() {
    let review = ModelReview(
      xml: modelXML(
        """
        <entity name="A">
          <attribute name="a" attributeType="Strnig"><userInfo><entry value="no key"/></userInfo></attribute>
          <attribute name="b" attributeType="Integer 16" defaultValueString="x"/>
          <relationship name="r" destinationEntity="A" deletionRule="Perhaps"/>
        </entity>
        <entity><attribute attributeType="String"/></entity>
        <entity name="B"><attribute attributeType="String"/></entity>
        """), file: "M")
    let lines = review.errors.map(\.line)
    #expect(lines == [3, 5, 7, 8])
    #expect(review.errors[0].description.hasPrefix("M:3: A.a: the attribute type \"Strnig\" does not exist"))
    #expect(review.warnings.map(\.line) == [4])
    #expect(review.model == nil)
  }

  @Test("Contradictions are told all, each once, in the order of their lines")
  func contradictions() {
    #expect(
      errors(
        """
        <entity name="A">
          <attribute name="a" attributeType="Integer 16" minValueString="3" maxValueString="2"/>
          <attribute name="9" attributeType="String"/>
          <attribute name="c" attributeType="String" regularExpressionString="("/>
        </entity>
        <entity name="B" parentEntity="A"/>
        <entity name="C" parentEntity="None"/>
        """
      ) == [
        "M:3: A.a: the minimum is greater than the maximum",
        "M:4: A.9: \"9\" can't name a property: a name begins with a letter or _ and has letters, digits and _ only",
        "M:5: A.c: the regular expression \"(\" can't be read",
        "M:8: C: inherits from the entity \"None\", which does not exist",
      ])
    #expect(
      errors(
        """
        <entity name="A"><relationship name="r" destinationEntity="X"/>
          <relationship name="s" destinationEntity="Y"/></entity>
        <entity name="B" parentEntity="A"/>
        """
      ) == [
        "M:2: A.r: the destination entity \"X\" does not exist",
        "M:3: A.s: the destination entity \"Y\" does not exist",
      ])
  }

  @Test("Text that is no model is one error")
  func malformed() {
    #expect(ModelReview(xml: Data("<model><entity".utf8), file: "M").errors.count == 1)
    #expect(ModelReview(xml: modelXML("<entity name=\"A\"/>"), file: "M").model?.entities.count == 1)
  }
}
