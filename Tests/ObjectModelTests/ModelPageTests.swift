import Foundation
import ObjectModel
import TestSupport
import Testing

@Suite("The page on models")
struct ModelPageTests {
  private func text(_ path: String) throws -> String {
    try String(contentsOf: RepositoryPaths.root.appending(path: path), encoding: .utf8)
  }

  @Test("Its example is a model without a warning, and means what its comments say")
  func example() throws {
    let page = try text("Documentation/Models.md")
    let block = try #require(page.components(separatedBy: "```xml\n").dropFirst().first)
    let xml = try #require(block.components(separatedBy: "```").first)
    let model = try ManagedObjectModel(xml: Data(xml.utf8), file: "Models.md")
    #expect(model.warnings.map(\.description) == [])
    #expect(model.entities.map(\.name).sorted() == ["Department", "Manager", "Person"])
    let person = try #require(model.entitiesByName["Person"])
    #expect(person.property(named: "home_city")?.isPersistent == true)
    #expect(person.property(named: "number")?.isOptional == false)
    #expect(person.property(named: "department")?.inverse?.name == "people")
    #expect(person.property(named: "telephone")?.attribute?.renamingIdentifier == "phone")
    #expect(model.entitiesByName["Manager"]?.parent === person)
    #expect(model.entitiesByName["Department"]?.property(named: "size")?.derivation != nil)
  }

  @Test("It names every element and attribute that the reader looks at, and no others")
  func names() throws {
    let page = try text("Documentation/Models.md")
    let reader = try text("Sources/ObjectModel/ModelReader.swift")
    let element = try text("Sources/ObjectModel/ModelElement.swift")
    let paths = reader.matches(of: /"(model(?:\/\w+)*)"/).map { String($0.1) }
    let elements = Set(paths.flatMap { $0.split(separator: "/").map(String.init) })
    #expect(elements.count > 15)
    let shownElements = Set(page.matches(of: /`<(\w+)>`/).map { String($0.1) })
    #expect(shownElements == elements)

    let keys = /(?:self|element)\["(\w+)"\]|(?:flag|required|count|attributes)[(\[]"(\w+)"/
    var attributes = Set((reader + element).matches(of: keys).map { String($0.1 ?? $0.2 ?? "") })
    let intervals = element.matches(of: /"(\w+(?:DateTimeInterval|ValueString))"/).map { String($0.1) }
    attributes.formUnion(intervals)
    #expect(attributes.count > 35)
    for name in attributes.sorted() { #expect(page.contains("`\(name)`"), "the page does not name \(name)") }
    // In the first column of the tables of attributes, and nowhere else, stand names that the reader knows.
    let rows = page.split(separator: "\n").drop { $0 != "## Elements" }.prefix { $0 != "## Derived attributes" }
    let named = rows.filter { $0.hasPrefix("| `") && !$0.hasPrefix("| `<") }.flatMap { row in
      row.split(separator: "|", omittingEmptySubsequences: false)[1].matches(of: /`(\w+)`/).map { String($0.1) }
    }
    let types = Set(AttributeType.allCases.map(\.rawValue) + ["Composite"])
    for name in named where !types.contains(name) && name != "documentation" {
      #expect(attributes.contains(name), "the reader does not know \(name)")
    }
  }

  @Test("It names every type")
  func types() throws {
    let page = try text("Documentation/Models.md")
    for type in AttributeType.allCases { #expect(page.contains("`\(type.rawValue)`"), "\(type.rawValue)") }
  }
}
