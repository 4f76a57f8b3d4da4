import Foundation
import ObjectGraph
import Testing

/// An entry with hooks; its properties are generated.
class DiaryEntry: DiaryEntryProperties {
  private(set) var wasFetched = false

  override func awakeFromInsert() { title = "Untitled" }

  override func awakeFromFetch() { wasFetched = true }

  override func validateForInsert() throws {
    try super.validateForInsert()
    guard title != "" else {
      throw ValidationError(self, property: "title", rule: .missingValue, message: "is empty")
    }
  }
}

/// A tag, of which nothing is generated.
final class DiaryTag: ManagedObject {
  var name: String? {
    get { value(forKey: "name") as? String }
    set { setValue(newValue, forKey: "name") }
  }
}

@Suite("Classes that are written by hand for a compiled model")
struct OwnClassTests {
  let stack: Stack

  init() throws { stack = try Stack(Diary.model) }

  @Test("Objects have the class with its hooks, typed properties and predicates, made here or fetched")
  func hooks() throws {
    try stack.writer.performAndWait { writer in
      let entry = DiaryEntry(context: writer)
      #expect(entry.title == "Untitled")
      entry.title = ""
      let error = #expect(throws: ValidationError.self) { try writer.save() }
      #expect(error?.property == "title")
      entry.title = "Monday"
      entry.photos = [DiaryPhoto(context: writer)]
      try writer.save()
    }
    try stack.there.performAndWait { there in
      let request = try FetchRequest<DiaryEntry>(#Predicate { $0.title == "Monday" }, sortBy: [.ascending(\.title)])
      let entry = try #require(try there.fetch(request).first)
      #expect(entry.title == "Monday" && entry.wasFetched)
      #expect(entry.photos.first?.entry === entry)
    }
  }

  @Test("A generated class below one that is written by hand inherits its hooks")
  func inheritedHooks() throws {
    try stack.writer.performAndWait { writer in
      let dream = DiaryDream(context: writer)
      #expect(dream.title == "Untitled")
      dream.title = ""
      #expect(throws: ValidationError.self) { try writer.save() }
      dream.title = "Falling"
      dream.isNightmare = true
      try writer.save()
    }
    try stack.there.performAndWait { there in
      let dream = try #require(try there.fetch(FetchRequest<DiaryEntry>()).first as? DiaryDream)
      #expect(dream.isNightmare && dream.wasFetched)
    }
  }

  @Test("A class of which nothing is generated is found by its name, and relationships lead to it")
  func wholeClass() throws {
    try stack.writer.performAndWait { writer in
      let tag = DiaryTag(context: writer)
      tag.name = "work"
      DiaryEntry(context: writer).tags = [tag]
      try writer.save()
    }
    try stack.there.performAndWait { there in
      let tags = try there.fetch(FetchRequest<DiaryTag>())
      #expect(tags.map(\.name) == ["work"])
      #expect(try there.fetch(FetchRequest<DiaryEntry>()).first?.tags == Set(tags))
    }
  }
}
