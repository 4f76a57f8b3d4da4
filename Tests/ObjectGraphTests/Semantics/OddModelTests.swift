import Foundation
import ObjectGraph
import TestSupport
import Testing

/// A value that a transient attribute without a type holds.
private final class Address: Sendable {
  let text: String
  init(_ text: String) { self.text = text }
}

@Suite("Model, migration, special properties: what old models have")
struct OddModelTests {
  private let place: StorePlace

  init() throws { place = try StorePlace() }

  /// A stack of its own on the store, as after a restart.
  private func stack() throws -> Stack { try Stack(Oddities.model, place: place) }

  @Test("A fetched object has its transient defaults and can be changed and saved")
  func transientDefaults() throws {
    let first = try self.stack().writer
    try first.performAndWait { context in
      let blog = Blog(context: context)
      blog.hasOlder = false
      blog.mood = "angry"
      try context.save()
    }
    let second = try self.stack().writer
    try second.performAndWait { context in
      let blog = try #require(try context.fetch(FetchRequest<Blog>()).first)
      #expect(blog.hasOlder && blog.mood == "calm" && !blog.hasChanges)
      blog.title = "News"
      try context.save()
      blog.hasOlder = false
      try context.refresh(blog, mergeChanges: false)
      #expect(blog.hasOlder && blog.title == "News")
    }
  }

  @Test("A transient attribute without a type holds any Sendable value, which undo and rollback bring back")
  func undefinedValues() throws {
    let stack = try self.stack()
    let coordinator = stack.coordinator
    try stack.writer.performAndWait { context in
      let blog = Blog(context: context)
      let address = Address("a@b")
      blog.jid = address
      #expect(blog.jid as? Address === address)
      #expect(blog.value(forKey: "jid") as? Address === address)
      #expect(blog.undefinedValue(Address.self, forKey: "jid") === address)
      #expect(blog.undefinedValue(Int.self, forKey: "jid") == nil)
      blog.seen = ["Ada": .distantPast]
      #expect(blog.seen == ["Ada": .distantPast])
      blog.setValue("text", forKey: "jid")
      #expect(blog.jid as? String == "text" && blog[attribute: "jid"] == "text")
      try context.save()
      #expect(blog.seen?.count == 1 && !blog.hasChanges)
      blog.setUndefinedValue(7, forKey: "jid")
      #expect(blog.jid as? Int == 7 && blog.hasChanges)
      context.rollback()
      #expect(blog.jid as? String == "text")
      blog.jid = nil
      #expect(blog.jid == nil)
      try context.save()
    }
    try coordinator.checkInvariants()
    let other = try self.stack().writer
    try other.performAndWait { context in
      let blog = try #require(try context.fetch(FetchRequest<Blog>()).first)
      #expect(blog.jid == nil && blog.seen == nil)
    }
  }

  @Test("Properties have the Swift names that the model gives, and their own names everywhere else")
  func names() throws {
    let context = try self.stack().writer
    try context.performAndWait { context in
      let blog = Blog(context: context)
      blog.scope = "all"
      blog._rank = 3
      blog.dataset = Colour(red: 1, green: 2)
      let tag = OddTag(context: context)
      (tag.id, tag.ID) = ("small", "LARGE")
      blog.addToTags(tag)
      #expect(blog.value(forKey: "context") as? String == "all")
      try context.save()
      #expect(try context.count(for: FetchRequest<Blog>(#Predicate { $0.scope == "all" && $0._rank == 3 })) == 1)
      #expect(try context.count(for: FetchRequest<Blog>(Condition(format: "context == 'all'"))) == 1)
      #expect(try context.count(for: FetchRequest<OddTag>(#Predicate { $0.id == "small" && $0.ID == "LARGE" })) == 1)
      #expect(try context.count(for: FetchRequest<OddTag>(Condition(format: "ID == 'small'"))) == 0)
    }
    let other = try self.stack().writer
    try other.performAndWait { context in
      let tag = try #require(try context.fetch(FetchRequest<OddTag>()).first)
      #expect(tag.id == "small" && tag.ID == "LARGE" && tag.blogs.first?.dataset?.green == 2)
    }
  }

  @Test("Entities that share a class in the model have a class each")
  func sharedClass() throws {
    let context = try self.stack().writer
    context.performAndWait { context in
      let member = MemberVisit(context: context)
      member.number = 5
      #expect(member.entity.name == "Member" && Visit(context: context).entity.name == "Guest")
      #expect(type(of: context.object(with: member.objectID)) == MemberVisit.self)
    }
  }

  @Test(
    "Relating new objects looks for nothing in the store, nor in the objects made before", arguments: [true, false])
  func relatingNewObjects(setsOwner: Bool) throws {
    let stack = try self.stack()
    let coordinator = stack.coordinator
    try stack.writer.performAndWait { context in
      // Keys are drawn in blocks, which takes statements.
      let made = (0..<50).map { _ in (Blog(context: context), Post(context: context), OddTag(context: context)) }
      let count = stack.statements.count {
        for (blog, post, tag) in made {
          if setsOwner { post.blog = blog } else { blog.posts = [post] }
          blog.tags = [tag]
          #expect(blog.posts == [post] && tag.blogs == [blog] && post.blog === blog)
        }
      }
      #expect(count == 0)
      for (blog, _, tag) in made {
        #expect(blog.posts.count == 1)
        context.delete(tag)
      }
      context.processPendingChanges()
      #expect(made.allSatisfy { $0.0.tags.isEmpty })
      try context.save()
    }
    try coordinator.checkInvariants()
  }

  @Test("A new object that a child has related is found so in the parent")
  func relatedByChild() throws {
    let parent = try self.stack().writer
    let id = parent.performAndWait { Blog(context: $0).objectID }
    let child = ManagedObjectContext(parent: parent, name: "child")
    try child.performAndWait { child in
      let post = Post(context: child)
      post.blog = try child.existingObject(with: id) as? Blog
      try child.save()
    }
    parent.performAndWait { #expect(($0.object(with: id) as? Blog)?.posts.count == 1) }
  }
}
