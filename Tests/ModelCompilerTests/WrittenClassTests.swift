import Foundation
import TestSupport
import Testing

extension ModelCompilerTests {
  @Test("A class that is written by hand is bound, below its generated properties if the model says so")
  func writtenClasses() async throws {
    let outcome = try await compile(
      """
      <model>
        <entity name="A" representedClassName="A"><attribute name="x" attributeType="String"/>
          <userInfo><entry key="bobbin.generate" value="properties"/></userInfo></entity>
        <entity name="B" representedClassName="B" parentEntity="A"><attribute name="y" attributeType="Boolean"/>
          <userInfo><entry key="bobbin.generate" value="none"/></userInfo></entity>
        <entity name="C" representedClassName="C" parentEntity="B"><attribute name="z" attributeType="Double"/></entity>
        <entity name="D" representedClassName="D"><relationship name="a" optional="YES" destinationEntity="A"/>
          <relationship name="bs" optional="YES" toMany="YES" destinationEntity="B"/></entity>
        <entity name="E" representedClassName="B"><userInfo><entry key="bobbin.generate" value="none"/></userInfo></entity>
      </model>
      """)
    #expect(outcome.errors == "")
    #expect(outcome.exitCode == 0)
    let properties = try body(of: "AProperties")
    #expect(properties.hasPrefix("ManagedObject {\n"))
    #expect(properties.contains("open override class var entityName: String { \"A\" }"))
    #expect(properties.contains("    \\A.x: \"x\"\n"))
    let heir = try body(of: "C")
    #expect(heir.hasPrefix("B {\n") && heir.contains("    \\C.z: \"z\"\n") && !heir.contains("final var y"))
    // What it inherits may have hooks.
    #expect(!heir.contains("isGenerated"))
    let text = try generated()
    for name in ["A", "B", "C", "D"] {
      #expect(text.components(separatedBy: "      \"\(name)\": \(name).self").count == 2)
    }
    #expect(!text.contains("class A: ") && !text.contains("class B: "))
    let written = """
      import ObjectGraph
      public class A: AProperties { public override func awakeFromInsert() { x = "new" } }
      public class B: A { public override class var entityName: String { "B" } }
      """
    let errors = try await Compiler.errors(
      in: ["Company": text.replacing("public import", with: "import")], common: written)
    #expect(errors.isEmpty, "\(errors)")
  }

  @Test("A part of a class that can't be generated is a warning, and the class is generated")
  func unknownPart() async throws {
    let outcome = try await compile(
      """
      <model>
      <entity name="E" representedClassName="E"><userInfo><entry key="bobbin.generate" value="None"/></userInfo></entity>
      </model>
      """)
    #expect(outcome.exitCode == 0)
    #expect(
      outcome.errors == """
        \(contents.path):2: warning: E: "None" (bobbin.generate) is none of class, properties and none, so the class is \
        generated

        """)
    #expect(try generated().contains("open class E: ManagedObject {"))
  }
}
