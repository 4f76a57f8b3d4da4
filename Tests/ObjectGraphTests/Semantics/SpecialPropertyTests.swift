import Foundation
import ObjectGraph
import TestSupport
import Testing

@Suite("Model, migration, special properties: special properties")
struct SpecialPropertyTests {
  @Test("A transient attribute is kept in memory, is never stored, and a refresh drops it")
  func transient() throws {
    let stack = try Stack(Shop.model)
    try stack.writer.performAndWait { writer in
      let customer = Customer(context: writer)
      customer.scratch = "new"
      try writer.save()
      #expect(customer.scratch == "new")
      customer.scratch = "changed"
      #expect(customer.hasChanges && customer.changedValues().isEmpty && !customer.hasPersistentChangedValues)
      try writer.save()
      #expect(customer.scratch == "changed" && !customer.hasChanges)
      customer.name = "Ada"
      try writer.save()
      #expect(customer.scratch == "changed")
      try writer.refresh(customer, mergeChanges: false)
      #expect(customer.scratch == nil && customer.name == "Ada")
    }
    let shell = SQLiteShell(path: stack.storePath)
    #expect(try shell.run("SELECT name, _version FROM Customer") == "Ada|2")
    #expect(try shell.run("SELECT count(*) FROM pragma_table_info('Customer') WHERE name = 'scratch'") == "0")
  }

  @Test("A transient value outlives a refresh that merges, and what other contexts save", arguments: [true, false])
  func keptTransient(isEdited: Bool) throws {
    let stack = try Stack(Shop.model)
    let there = stack.root("there")
    try stack.writer.performAndWait { writer in
      let customer = Customer(context: writer)
      (customer.name, customer.scratch) = ("Ada", "kept")
      try writer.save()
      let id = customer.objectID
      if isEdited { customer.labels = ["mine"] }
      try writer.refresh(customer, mergeChanges: true)
      #expect(customer.scratch == "kept" && customer.name == "Ada" && customer.hasChanges == isEdited)
      let save = try didSave(in: there) { ($0.object(with: id) as? Customer)?.name = "Bea" }
      writer.mergeChanges(fromContextDidSave: save)
      #expect(customer.scratch == "kept" && customer.name == "Bea" && customer.hasChanges == isEdited)
      try writer.save()
      #expect(customer.scratch == "kept" && customer.labels == (isEdited ? ["mine"] : nil))
      try writer.checkInvariants()
      try writer.refresh(customer, mergeChanges: false)
      #expect(customer.scratch == nil && customer.name == "Bea")
    }
    try stack.coordinator.checkInvariants()
  }

  @Test("A transient value is its context's own: none of theirs comes with what others save, though no row is kept")
  func foreignTransient() throws {
    let coordinator = PersistentStoreCoordinator(model: Shop.model, rowCacheByteLimit: 0)
    try coordinator.open(.inMemory)
    let here = ManagedObjectContext(coordinator: coordinator, name: "here")
    let there = ManagedObjectContext(coordinator: coordinator, name: "there")
    let id = try there.performAndWait { there in
      let customer = Customer(context: there)
      try there.save()
      return customer.objectID
    }
    try here.performAndWait { here in
      let fault = try #require(here.object(with: id) as? Customer)
      let save = try didSave(in: there) {
        let customer = $0.object(with: id) as? Customer
        customer?.name = "Bea"
        customer?.scratch = "theirs"
      }
      // The rows of others push this one's out of the cache.
      for _ in 0..<3 { _ = try didSave(in: there) { Customer(context: $0).name = "Other" } }
      here.mergeChanges(fromContextDidSave: save)
      #expect(fault.scratch == nil && fault.name == "Bea")
    }
  }

  @Test("A transformable holds a Codable value, through the generated class and by name")
  func transformable() throws {
    let stack = try Stack(Shop.model)
    let id = try stack.writer.performAndWait { writer in
      let customer = Customer(context: writer)
      customer.colour = Colour(red: 1, green: 2)
      customer.labels = ["a", "b/c"]
      #expect(customer.colour == Colour(red: 1, green: 2))
      try writer.save()
      return customer.objectID
    }
    try stack.root().performAndWait { root in
      let customer = try #require(try root.existingObject(with: id) as? Customer)
      #expect(customer.colour == Colour(red: 1, green: 2) && customer.labels == ["a", "b/c"])
      #expect(customer.transformedValue([String].self, forKey: "labels") == ["a", "b/c"])
      customer.setTransformedValue(Colour(red: 3, green: 4), forKey: "colour")
      customer.labels = nil
      try root.save()
      #expect(customer.colour?.red == 3 && customer.labels == nil)
      #expect(customer.transformedValue(String.self, forKey: "colour") == nil)
      let error = #expect(throws: (any Error).self) { try root.save() }
      #expect("\(error!)".hasPrefix("Customer.colour can't be converted from or to String"))
    }
    let text = try SQLiteShell(path: stack.storePath).run("SELECT CAST(colour AS TEXT) FROM Customer")
    #expect(text == "{\"green\":4,\"red\":3}")
  }

  @Test("A fetched property is evaluated when it is read, with $FETCH_SOURCE as the object or a value of it")
  func fetchedProperty() throws {
    let stack = try Stack(Shop.model)
    try stack.writer.performAndWait { writer in
      let customers = (0..<3).map { index in
        let customer = Customer(context: writer)
        customer.name = index == 2 ? "Bea" : "Ada"
        return customer
      }
      for (customer, price) in zip(customers, [100, 50]) {
        let (order, item) = (Order(context: writer), Item(context: writer))
        order.customer = customer
        item.price = Decimal(price)
        item.order = order
      }
      try writer.save()
      #expect(customers[0].largeOrders == Array(customers[0].orders) && customers[1].largeOrders.isEmpty)
      #expect(customers[0].namesakes == [customers[1]] && customers[2].namesakes.isEmpty)
      customers[2].name = "Ada"
      #expect(Set(customers[0].namesakes) == [customers[1], customers[2]])
      #expect((customers[2].value(forKey: "namesakes") as? [ManagedObject])?.count == 2)
      #expect(throws: ConditionError.self) { try customers[0].fetchedObjects(forKey: "orders") }
    }
  }

  @Test("A fetch request of the model is found by its name and takes values for its variables")
  func template() throws {
    let stack = try Stack(Shop.model)
    try stack.writer.performAndWait { writer in
      for price in [1, 20, 300] {
        let (order, item) = (Order(context: writer), Item(context: writer))
        item.price = Decimal(price)
        item.order = order
      }
      try writer.save()
      let request = try FetchRequest<Order>(
        template: "OrdersAbove", of: Shop.model, substituting: ["MINIMUM": Decimal(20)])
      #expect(request.fetchLimit == 10)
      let totals = try writer.fetch(request).compactMap(\.total).sorted()
      #expect(totals == [20, 300])
    }
    #expect(throws: ConditionError.self) { try FetchRequest<Order>(template: "Nothing", of: Shop.model) }
    #expect(Shop.model.entities(inConfiguration: "Catalogue")?.map(\.name) == ["Item", "Tag"])
  }

  @Test("A predicate of the model that can't be read is an error with entity and property when a store is opened")
  func unreadablePredicate() throws {
    var person = EntityDescription("Person", attributes: [AttributeDescription("name", .string)])
    person.fetchedProperties = [.init(name: "friends", entity: "Person", predicate: "name ==")]
    let coordinator = PersistentStoreCoordinator(model: try ManagedObjectModel([person]))
    let error = #expect(throws: ModelError.self) { try coordinator.open(.inMemory) }
    #expect(error?.entity == "Person" && error?.property == "friends")
  }

  @Test("Large binary values are kept in files beside the store, and are not loaded until they are read")
  func externalData() throws {
    var image = EntityDescription("Image", attributes: [AttributeDescription("data", .binary)])
    image.attributes[0].allowsExternalBinaryDataStorage = true
    image.attributes.append(AttributeDescription("title", .string))
    let stack = try Stack(ManagedObjectModel([image]))
    let large = Data(repeating: 7, count: 200_000)
    let id = try stack.writer.performAndWait { writer in
      let image = writer.insertObject(ofEntity: "Image")
      image.setValue(large, forKey: "data")
      try writer.save()
      return image.objectID
    }
    let folder = stack.directory.path("store_files")
    let files = try FileManager.default.subpathsOfDirectory(atPath: folder).filter { $0.hasSuffix(".200000") }
    let file = try #require(files.first)
    try stack.root().performAndWait { root in
      let image = try root.existingObject(with: id)
      // The file is away while only the rest is used.
      try FileManager.default.moveItem(atPath: folder + "/" + file, toPath: folder + "/away")
      image.setValue("Title", forKey: "title")
      try root.save()
      #expect(image[blob: 0]?.byteCount == 200_000)
      try FileManager.default.moveItem(atPath: folder + "/away", toPath: folder + "/" + file)
      #expect(image.value(forKey: "data") as? Data == large)
    }
  }

  @Test("A large value whose file another save has replaced is an error that names it, and is read after a refresh")
  func replacedFile() throws {
    let gallery = try GalleryStack()
    let (first, second) = (Data(repeating: 1, count: 200_000), Data(repeating: 2, count: 200_000))
    let (here, there) = (
      ManagedObjectContext(coordinator: gallery.coordinator, name: "here"),
      ManagedObjectContext(coordinator: gallery.coordinator, name: "there")
    )
    let id = try there.performAndWait { there in
      let blob = ImageBlob(context: there)
      blob.data = first
      try there.save()
      return blob.objectID
    }
    try here.performAndWait { here in
      let blob = try #require(try here.existingObject(with: id) as? ImageBlob)
      try here.realize(blob)
      try there.performAndWait { there in
        (try there.existingObject(with: id) as? ImageBlob)?.data = second
        try there.save()
      }
      #expect(blob.data == nil)
      _ = ImageBlob(context: here)
      let error = #expect(throws: UnreadableValue.self) { try here.save() }
      #expect(error?.objectID == id && error?.entityName == "ImageBlob" && error?.property == "data")
      try here.refresh(blob, mergeChanges: false)
      #expect(blob.data == second)
      try here.save()
    }
  }
}
