import Foundation
import ObjectGraph
import Testing

/// A person that notes which of its hooks were called, and changes itself in some.
private final class WatchedPerson: ManagedObject {
  override class var entityName: String { "Person" }

  var calls: [String] = []
  var timesToChange = 0
  var seenDefault: Int64?

  var age: Int64 {
    get { self[integer: 2] }
    set { self[integer: 2] = newValue }
  }

  override func awakeFromInsert() {
    seenDefault = age
    age = 42
  }

  override func willTurnIntoFault() { calls.append("willTurnIntoFault \(isFault)") }
  override func didTurnIntoFault() { calls.append("didTurnIntoFault \(isFault)") }

  override func awake(fromSnapshotEvents events: SnapshotEventType) {
    calls.append("awake \(events.rawValue)")
    age += 1_000
  }

  override func awakeFromFetch() { calls.append("awakeFromFetch \(age)") }

  override func willSave() {
    calls.append("willSave")
    if timesToChange > 0 {
      timesToChange -= 1
      age += 1
    }
  }

  override func didSave() { calls.append("didSave") }

  override func validateForUpdate() throws {
    try super.validateForUpdate()
    calls.append("validateForUpdate")
  }
}

/// An article that writes down its prices, by class or by name, when it is saved.
private final class Article: ManagedObject {
  override class var entityName: String { "Article" }

  var price: Int64 {
    get { self[integer: 0] }
    set { self[integer: 0] = newValue }
  }

  override func willSave() {
    guard changedValues()["price"] != nil else { return }
    let wasWritten = objectIDs(forRelationshipNamed: "prices").count
    if price > wasWritten {
      let entry = price == 1 ? PriceEntry(inContextOf: self) : insertObject(ofEntity: "PriceEntry")
      entry.setValue(price, forKey: "price")
      entry.setValue(self, forKey: "article")
    }
  }
}

private final class PriceEntry: ManagedObject {
  override class var entityName: String { "PriceEntry" }
}

@Suite("Lifecycle and validation: lifecycle")
struct LifecycleTests {
  private func watchedModel() throws -> ManagedObjectModel {
    let xml = """
      <model><entity name="Person" representedClassName="WatchedPerson">
        <attribute name="firstName" optional="YES" attributeType="String" minValueString="2" maxValueString="4"/>
        <attribute name="lastName" optional="YES" attributeType="String" regularExpressionString="[A-Z].*"/>
        <attribute name="age" optional="YES" attributeType="Integer 64" minValueString="0" maxValueString="150"
          defaultValueString="0" usesScalarValueType="YES"/>
      </entity></model>
      """
    return try ManagedObjectModel(xml: Data(xml.utf8), classes: ["WatchedPerson": WatchedPerson.self], file: "test")
  }

  @Test("Values set in willSave are persisted; didSave runs once per object, deleted ones included")
  func hooks() throws {
    let stack = try Stack(try watchedModel())
    let id = try stack.writer.performAndWait { writer in
      let person = WatchedPerson(context: writer)
      #expect(person.age == 42)
      person.timesToChange = 2
      try writer.save()
      #expect(person.calls == ["willSave", "willSave", "willSave", "didSave"])
      person.calls = []
      person.age = 50
      try writer.save()
      #expect(person.calls == ["willSave", "validateForUpdate", "didSave"])
      return person.objectID
    }
    #expect(try SQLiteShell(path: stack.storePath).run("SELECT age FROM Person") == "50")
    try stack.root().performAndWait { root in
      let person = try #require(root.object(with: id) as? WatchedPerson)
      #expect(person.age == 50 && person.calls == ["awakeFromFetch 50"] && !person.hasChanges)
      root.delete(person)
      person.calls = []
      try root.save()
      #expect(person.calls == ["willSave", "didSave"])
    }
  }

  @Test("A hook inserts objects into the context of its object, and they are saved with it", arguments: [true, false])
  func insertingInHooks(inMemory: Bool) throws {
    let xml = """
      <model><entity name="Article" representedClassName="Article">
        <attribute name="price" attributeType="Integer 64" defaultValueString="0" usesScalarValueType="YES"/>
        <relationship name="prices" optional="YES" toMany="YES" deletionRule="Cascade" destinationEntity="PriceEntry"
          inverseName="article" inverseEntity="PriceEntry"/>
      </entity><entity name="PriceEntry" representedClassName="PriceEntry">
        <attribute name="price" optional="YES" attributeType="Integer 64"/>
        <relationship name="article" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Article"
          inverseName="prices" inverseEntity="Article"/>
      </entity></model>
      """
    let classes: [String: AnyClass] = ["Article": Article.self, "PriceEntry": PriceEntry.self]
    let model = try ManagedObjectModel(xml: Data(xml.utf8), classes: classes, file: "test")
    let stack = try Stack(model, inMemory: inMemory)
    for context in [stack.writer, stack.main] {
      try context.performAndWait { context in
        let article = Article(context: context)
        for price in 1...2 {
          article.price = Int64(price)
          try context.save()
        }
        let entries = try #require(article.value(forKey: "prices") as? Set<ManagedObject>)
        #expect(Set(entries.compactMap { $0.value(forKey: "price") as? Int64 }) == [1, 2])
        #expect(entries.allSatisfy { $0 is PriceEntry && $0.managedObjectContext === context })
      }
    }
    try stack.flush()
    let stored = try stack.there.performAndWait { there in
      try there.count(for: FetchRequest<ManagedObject>(entity: "PriceEntry"))
    }
    #expect(stored == 4)
    try stack.checkInvariants()
  }

  @Test("Defaults are readable right after insert, in awakeFromInsert already")
  func defaults() throws {
    let stack = try Stack(try watchedModel())
    stack.main.performAndWait { main in
      let person = WatchedPerson(context: main)
      #expect(person.seenDefault == 0 && person.age == 42)
      #expect(main.insertObject(ofEntity: "Person").value(forKey: "age") as? Int64 == 42)
    }
  }

  @Test("awakeFromFetch runs with change tracking off, once per time that values are fetched")
  func awakeFromFetch() throws {
    let stack = try Stack(try watchedModel())
    let id = try stack.writer.performAndWait { writer in
      let person = WatchedPerson(context: writer)
      try writer.save()
      return person.objectID
    }
    try stack.root().performAndWait { root in
      let person = try #require(try root.existingObject(with: id) as? WatchedPerson)
      #expect(person.calls == ["awakeFromFetch 42"] && !person.hasChanges)
      #expect(root.hasChanges == false)
      person.calls = []
      try root.refresh(person, mergeChanges: false)
      #expect(person.calls == ["willTurnIntoFault false", "didTurnIntoFault true"])
      #expect(person.age == 42 && person.calls.last == "awakeFromFetch 42" && person.calls.count == 3)
    }
  }

  @Test("An object is told when its values are replaced as a whole, with change tracking off")
  func snapshotEvents() throws {
    let stack = try Stack(try watchedModel())
    try stack.writer.performAndWait { writer in
      let person = WatchedPerson(context: writer)
      try writer.save()
      person.calls = []
      person.age = 50
      writer.rollback()
      #expect(person.calls == ["awake \(SnapshotEventType.rollback.rawValue)"])
      #expect(person.age == 1_042 && !person.hasChanges)
      #expect(writer.hasChanges == false)
      try writer.refresh(person, mergeChanges: false)
      writer.undoManager = UndoManager()
      person.age = 51
      person.calls = []
      writer.undo()
      #expect(person.calls == ["awake \(SnapshotEventType.undoUpdate.rawValue)"])
      #expect(writer.hasChanges == false)
    }
  }

  @Test("A willSave without end is an error that names context and objects, and the changes are kept")
  func endlessWillSave() throws {
    let stack = try Stack(try watchedModel())
    try stack.writer.performAndWait { writer in
      let person = WatchedPerson(context: writer)
      person.setPrimitiveValue(0, forKey: "age")
      person.timesToChange = .max
      let error = #expect(throws: EndlessWillSave.self) { try writer.save() }
      #expect(error?.objectIDs == [person.objectID] && "\(error!)".contains("\"writer\""))
      person.timesToChange = 0
      person.age = 5
      try writer.save()
    }
    #expect(try SQLiteShell(path: stack.storePath).run("SELECT age FROM Person") == "5")
  }
}
