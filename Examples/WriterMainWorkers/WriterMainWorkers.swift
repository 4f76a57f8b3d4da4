// Writer, main and workers: a worker does the slow work, main joins what workers did, the writer goes to the disk.
//
//   swift run WriterMainWorkers
//
//   coordinator ◄── writer ◄── main ◄── worker, one for each piece of work

import Foundation
import ObjectGraph

@main
struct WriterMainWorkers {
  static func main() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "WriterMainWorkers-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let store = folder.appending(path: "gallery.sqlite")

    let coordinator = PersistentStoreCoordinator(model: Gallery.model)
    try coordinator.open(.sqlite(at: store))
    let writer = ManagedObjectContext(coordinator: coordinator, name: "writer")
    // A program with a user interface would use ContextExecutor.main. This one measures how long main is kept busy.
    let occupation = OccupationRecorder()
    let main = ManagedObjectContext(
      parent: writer, name: "main", executor: ContextExecutor(label: "main", occupation: occupation))

    // The image without its picture is there at once. The save goes one level up, to the writer, and not to the disk.
    let imageID = try await main.perform { main in
      let image = Image(context: main)
      image.title = "Elephants"
      try main.save()
      return image.objectID
    }
    print("main has saved: \(try await state(of: writer)), \(try await stored(coordinator))")
    print("the image's ID is \(imageID.isTemporaryID ? "temporary" : "permanent")")
    occupation.reset()

    // The worker gets the ID, never main's object: the compiler refuses to let an object into another context's block.
    let worker = ManagedObjectContext(parent: main, name: "worker")
    try await worker.perform { worker in
      guard let image = try worker.existingObject(with: imageID) as? Image else { return }
      print("the worker sees \"\(image.title ?? "")\", which is in no store yet")
      let blob = ImageBlob(context: worker)
      blob.data = Picture(width: 2_560, height: 1_960).png()
      image.blob = blob
      print("the worker has encoded \(blob.data?.count ?? 0) bytes; the inverse is set: \(blob.image === image)")
      try worker.save()
    }
    let title = await main.perform { main in
      (main.object(with: imageID) as? Image).map { "\"\($0.title ?? "")\" \($0.blob == nil ? "without" : "with") blob" }
    }
    print("the worker has saved: main shows \(title ?? "nothing"), \(try await stored(coordinator))")

    // The original stops here, with nothing on disk: main's parent is a context too. The writer has to save as well.
    try await main.perform { try $0.save() }
    print("main has saved: \(try await state(of: writer)), \(try await stored(coordinator))")
    try await writer.perform { try $0.save() }
    print("the writer has saved: \(try await state(of: writer)), \(try await stored(coordinator))")
    print("the same ID is \(imageID.isTemporaryID ? "temporary" : "permanent") now")
    // Main held the blob by reference all the time, and neither encoded, copied nor wrote it.
    print("main was busy for \(String(format: "%.2f", occupation.longest * 1_000)) ms at most")
    try coordinator.close()

    try await readAgain(store)
  }

  private static func state(of writer: ManagedObjectContext) async throws -> String {
    await writer.perform { $0.hasChanges } ? "the writer has changes" : "the writer has no changes"
  }

  /// What is on disk: a context beside the writer sees nothing else.
  private static func stored(_ coordinator: PersistentStoreCoordinator) async throws -> String {
    let witness = ManagedObjectContext(coordinator: coordinator, name: "witness")
    let count = try await witness.perform {
      try ($0.count(for: FetchRequest<Image>()), $0.count(for: FetchRequest<ImageBlob>()))
    }
    return "rows on disk: \(count.0) Image, \(count.1) ImageBlob"
  }

  /// What another program would find.
  private static func readAgain(_ store: URL) async throws {
    let coordinator = PersistentStoreCoordinator(model: Gallery.model)
    try coordinator.open(.sqlite(at: store))
    let reader = ManagedObjectContext(coordinator: coordinator, name: "reader")
    let isWhole = try await reader.perform { reader in
      let images = try reader.fetch(FetchRequest<Image>(#Predicate { $0.title == "Elephants" }))
      return images.first?.blob?.data == Picture(width: 2_560, height: 1_960).png()
    }
    print("read again, the picture is \(isWhole ? "the same" : "another one")")
    try coordinator.close()
  }
}
