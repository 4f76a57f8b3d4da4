import ObjectGraph

/// Tests of two contexts that are beside each other on one coordinator.
protocol Neighbours: Sendable {
  var stack: Stack { get }
}

extension Neighbours {
  var here: ManagedObjectContext { stack.here }
  var there: ManagedObjectContext { stack.there }

  /// Saves a new person there.
  func savedPerson(_ name: String = "Ada", age: Int64 = 1) throws -> ManagedObjectID {
    try there.performAndWait { context in
      let person = Person(context: context)
      person.firstName = name
      person.age = age
      try context.save()
      return person.objectID
    }
  }

  func age(_ id: ManagedObjectID, in context: ManagedObjectContext) -> Int64? {
    context.performAndWait { ($0.object(with: id) as? Person)?.age }
  }
}
