import Foundation
import ObjectGraph
import Testing

@Suite("P0 Writer, main and workers")
struct WriterMainWorkersTests {
  @Test("Worker saves into main, main into writer, writer into the store")
  func chain() throws {
    let stack = try GalleryStack()
    let id = try stack.main.performAndWait { main in
      let image = Image(context: main)
      image.title = "Elephants"
      try main.save()
      return image.objectID
    }
    let worker = stack.worker()
    try worker.performAndWait { worker in
      let image = worker.object(with: id) as! Image
      #expect(image.title == "Elephants")
      let blob = ImageBlob(context: worker)
      blob.data = Data(repeating: 7, count: 100)
      image.blob = blob
      #expect(blob.image === image)
      try worker.save()
    }
    try stack.main.performAndWait { main in
      #expect(main.insertedObjects.count == 1)
      #expect(main.updatedObjects.count == 1)
      try main.save()
    }
    try stack.writer.performAndWait { try $0.save() }
    let count = try stack.main.performAndWait { try $0.count(for: FetchRequest<ImageBlob>()) }
    #expect(count == 1)
    #expect(stack.statements.take().count > 0)
  }
}
