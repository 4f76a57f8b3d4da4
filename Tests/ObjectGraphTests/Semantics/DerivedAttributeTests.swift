import Foundation
import ObjectGraph
import ObjectGraphTesting
import StoreTesting
import Testing

/// A value in a transformable; public because the generated classes are.
public struct Colour: Codable, Equatable {
  var red: Int
  var green: Int
}

@Suite("Model, migration, special properties: derived attributes", .onEachStore)
struct DerivedAttributeTests {
  private func item(
    _ price: String?, _ weight: Double?, of order: Order, _ context: isolated ManagedObjectContext
  ) -> Item {
    let item = Item(context: context)
    item.price = price.flatMap { Decimal(string: $0) }
    item.weight = weight
    item.order = order
    return item
  }

  @Test("Derived attributes are computed at save, of the object itself", arguments: [true, false])
  func ownValues(inMemory: Bool) throws {
    let stack = try Stack(Shop.model, inMemory: inMemory)
    try stack.writer.performAndWait { writer in
      let customer = Customer(context: writer)
      customer.name = "Élodie ÅNGSTRÖM"
      #expect(customer.searchName == nil)
      try writer.save()
      #expect(customer.searchName == "elodie angstrom" && customer.upperName == "ÉLODIE ÅNGSTRÖM")
      #expect(customer.lowerName == "élodie ångström" && !customer.hasChanges)
      let found = try writer.fetch(
        FetchRequest<Customer>(Condition(format: "searchName == 'elodie angstrom'")))
      #expect(found == [customer])
      customer.name = nil
      try writer.save()
      #expect(customer.searchName == nil && customer.upperName == nil)
    }
  }

  @Test("@count, @sum, @min, @max and @average follow inserts, updates, moves and deletes", arguments: [true, false])
  func aggregates(inMemory: Bool) throws {
    let stack = try Stack(Shop.model, inMemory: inMemory)
    try stack.writer.performAndWait { writer in
      let customer = Customer(context: writer)
      let (first, second) = (Order(context: writer), Order(context: writer))
      (first.customer, second.customer) = (customer, customer)
      let items = [("10.10", 1.5), ("0.20", 2.5), (nil, nil)].map { item($0.0, $0.1, of: first, writer) }
      try writer.save()
      #expect(
        first.itemCount == 3 && first.total == Decimal(string: "10.3") && first.cheapest == Decimal(string: "0.2"))
      #expect(first.heaviest == 2.5 && first.meanWeight == 2)
      #expect(second.itemCount == 0 && second.total == 0 && second.cheapest == nil && second.meanWeight == nil)
      #expect(customer.spent == Decimal(string: "10.3"))

      items[1].price = Decimal(string: "100")
      try writer.save()
      #expect(first.total == Decimal(string: "110.1") && customer.spent == Decimal(string: "110.1"))

      items[0].order = second
      try writer.save()
      #expect(first.itemCount == 2 && first.total == 100 && second.itemCount == 1)
      #expect(second.total == Decimal(string: "10.1") && second.heaviest == 1.5)

      writer.delete(items[1])
      try writer.save()
      #expect(first.itemCount == 1 && first.total == 0 && first.heaviest == nil)
      #expect(customer.spent == Decimal(string: "10.1"))
      let totals = try writer.fetch(FetchRequest<Order>(Condition(format: "total > 10"))).map(\.itemCount)
      #expect(totals == [1])
    }
  }

  @Test("Aggregates over a many-to-many relationship follow its links", arguments: [true, false])
  func links(inMemory: Bool) throws {
    let stack = try Stack(Shop.model, inMemory: inMemory)
    try stack.writer.performAndWait { writer in
      let (order, other) = (Order(context: writer), Order(context: writer))
      let tags = (0..<3).map { _ in Tag(context: writer) }
      order.tags = Set(tags)
      try writer.save()
      #expect(order.tagCount == 3 && order.tagRank == 3 && other.tagCount == 0)
      tags[0].rank = 5
      order.removeFromTags(tags[1])
      other.addToTags(tags[1])
      try writer.save()
      #expect(order.tagCount == 2 && order.tagRank == 6 && other.tagCount == 1 && other.tagRank == 1)
      writer.delete(tags[0])
      try writer.save()
      #expect(order.tagCount == 1 && order.tagRank == 1)
    }
  }

  @Test("A to-one key path follows its end, also over two relationships, without a conflict", arguments: [true, false])
  func keyPaths(inMemory: Bool) throws {
    let stack = try Stack(Shop.model, inMemory: inMemory)
    let other = stack.root()
    let ids = try stack.writer.performAndWait { writer in
      let (customer, order) = (Customer(context: writer), Order(context: writer))
      customer.name = "Ada"
      order.customer = customer
      let item = item("1", 1, of: order, writer)
      try writer.save()
      #expect(order.customerName == "Ada" && item.buyer == "ADA")
      return (customer.objectID, order.objectID, item.objectID)
    }
    try other.performAndWait { other in
      let order = try #require(try other.existingObject(with: ids.1) as? Order)
      order.number = 7
      try stack.writer.performAndWait { writer in
        let customer = try #require(try writer.existingObject(with: ids.0) as? Customer)
        customer.name = "Bea"
        try writer.save()
        #expect((writer.object(with: ids.1) as? Order)?.customerName == "Bea")
      }
      // The order's row was computed anew meanwhile, but nobody changed it.
      try other.save()
      #expect(order.number == 7 && order.customerName == "Bea")
      #expect((try other.existingObject(with: ids.2) as? Item)?.buyer == "BEA")
    }
    let customer = try stack.writer.performAndWait { writer in
      writer.delete(writer.object(with: ids.0))
      try writer.save()
      return try writer.count(for: FetchRequest<Order>())
    }
    #expect(customer == 0)
  }

  @Test(
    "now() is the time of the save that wrote the object, and stays when others are saved", arguments: [true, false])
  func now(inMemory: Bool) throws {
    let stack = try Stack(Shop.model, inMemory: inMemory)
    try stack.writer.performAndWait { writer in
      let (first, second) = (Order(context: writer), Order(context: writer))
      let start = Date()
      try writer.save()
      let saved = try #require(first.changedAt)
      #expect(saved >= start && saved <= Date() && second.changedAt == saved)
      second.number = 2
      try writer.save()
      #expect(first.changedAt == saved)
      let later = try #require(second.changedAt)
      #expect(later > saved)
    }
  }

  @Test("A child's context shows what was computed after a refresh, and other contexts fetch it")
  func children() throws {
    let stack = try Stack(Shop.model)
    let id = try stack.main.performAndWait { main in
      let order = Order(context: main)
      _ = item("2.50", 1, of: order, main)
      try main.save()
      return order.objectID
    }
    try stack.writer.performAndWait { try $0.save() }
    try stack.main.performAndWait { main in
      let order = try #require(main.object(with: id) as? Order)
      try main.refresh(order, mergeChanges: false)
      #expect(order.total == Decimal(string: "2.5"))
    }
    #expect(try stack.place.shell("SELECT total, itemCount FROM \"Order\"") == "2.5|1")
  }

  @Test("A context that merges the save shows what was computed, in objects of the save that have no changes")
  func merging() throws {
    let stack = try Stack(Shop.model)
    let other = stack.root()
    let id = try stack.writer.performAndWait { writer in
      let order = Order(context: writer)
      try writer.save()
      return order.objectID
    }
    try other.performAndWait { other in
      let order = try #require(try other.existingObject(with: id) as? Order)
      #expect(order.itemCount == 0)
      let events = EventRecorder(stack.writer)
      try stack.writer.performAndWait { writer in
        let order = try #require(try writer.existingObject(with: id) as? Order)
        _ = item("3", 1, of: order, writer)
        try writer.save()
        #expect(order.itemCount == 1)
      }
      for save in events.didSaves { other.mergeChanges(fromContextDidSave: save) }
      #expect(order.itemCount == 1 && order.total == 3 && !order.hasChanges)
    }
  }

  @Test("Only objects of the relationship's entity are taken together, also where others share its table")
  func hierarchies() throws {
    let xml = """
      <model><entity name="Owner">
        <attribute name="dogCount" optional="YES" attributeType="Integer 64" derived="YES"
          derivationExpression="dogs.@count"/>
        <attribute name="petCount" optional="YES" attributeType="Integer 64" derived="YES"
          derivationExpression="pets.@count"/>
        <relationship name="dogs" optional="YES" toMany="YES" destinationEntity="Dog" inverseName="owner"/>
        <relationship name="cats" optional="YES" toMany="YES" destinationEntity="Cat" inverseName="owner"/>
        <relationship name="pets" optional="YES" toMany="YES" destinationEntity="Pet" inverseName="keeper"/>
      </entity>
      <entity name="Pet">
        <attribute name="name" optional="YES" attributeType="String"/>
        <attribute name="sign" optional="YES" attributeType="String" derived="YES" derivationExpression="uppercase:(name)"/>
        <relationship name="keeper" optional="YES" maxCount="1" destinationEntity="Owner" inverseName="pets"/>
      </entity>
      <entity name="Dog" parentEntity="Pet">
        <relationship name="owner" optional="YES" maxCount="1" destinationEntity="Owner" inverseName="dogs"/>
      </entity>
      <entity name="Cat" parentEntity="Pet">
        <relationship name="owner" optional="YES" maxCount="1" destinationEntity="Owner" inverseName="cats"/>
      </entity></model>
      """
    let stack = try Stack(ManagedObjectModel(xml: Data(xml.utf8)))
    try stack.writer.performAndWait { writer in
      let owner = writer.insertObject(ofEntity: "Owner")
      for entity in ["Dog", "Cat", "Cat"] {
        let pet = writer.insertObject(ofEntity: entity)
        pet.setValue(owner, forKey: "owner")
        pet.setValue(owner, forKey: "keeper")
        pet.setValue(entity, forKey: "name")
      }
      try writer.save()
      #expect(owner[attribute: "dogCount"] == 1 && owner[attribute: "petCount"] == 3)
      let signs = try writer.fetch(FetchRequest<ManagedObject>(entity: "Pet", nil)).map { $0[attribute: "sign"] }
      #expect(signs == ["DOG", "CAT", "CAT"])
    }
  }

  @Test(
    "A save of objects that nothing is derived from runs no statement more",
    .onlyOnSQLite("PostgreSQL is asked for its history in the same round trip"))
  func cost() throws {
    let stack = try Stack(People.model)
    try stack.writer.performAndWait { writer in
      Person(context: writer).age = 1
      let count = try stack.statementCount { try writer.save() }
      #expect(count == 1)
    }
  }
}
