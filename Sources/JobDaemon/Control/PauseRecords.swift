import Foundation
import JobSchedule
import Jobs
package import ObjectGraph

/// The records of pauses, by which they hold until they are ended, also when the daemon is restarted.
package enum PauseRecords {
  /// Pauses everything in a store that no daemon uses; its next one starts nothing until an operator resumes.
  package static func pauseAll(in coordinator: PersistentStoreCoordinator) throws {
    try ManagedObjectContext(coordinator: coordinator, name: "pause").performAndWait {
      try record(true, .everything, in: $0)
    }
  }

  /// Records that a resource is paused, or not any more, and saves the context.
  static func record(
    _ isPaused: Bool, _ resource: Resource.Name, in context: isolated ManagedObjectContext
  ) throws {
    guard let (kind, name) = resource.kindAndName else { return }
    let records = try context.fetch(FetchRequest<Pause>(#Predicate { $0.kind == kind && $0.name == name }))
    if isPaused && records.isEmpty {
      let pause = Pause(context: context)
      (pause.kind, pause.name, pause.since) = (kind, name, Date())
    }
    if !isPaused { for record in records { context.delete(record) } }
    try context.save()
  }
}
