import Fleet
import Foundation
import Jobs
import PostgresStore
import StoreInterface

/// The table `_input`: copies of inputs that only the host of a job's spool sees, from its admission until it is completed
/// or removed.
enum InputRows {
  /// Keeps the inputs of jobs, as far as these are new.
  static func keep(inputsOf jobs: [FleetJob]) -> [Request] {
    jobs.flatMap { job in
      job.inputs.map { input in
        Request(
          """
          INSERT INTO _input (job, path, modified, content) SELECT _key, $2, $3, $4 FROM "Job" WHERE _key = $1
          """,
          [
            .integer(job.id.key), .text(input.path), .integer(input.modificationTime), .blob(Array(input.content)),
          ])
      }
    }
  }

  static func read(_ path: String, of job: ManagedObjectID) -> Request {
    Request("SELECT modified, content FROM _input WHERE job = $1 AND path = $2", [.integer(job.key), .text(path)])
  }

  /// Drops those of jobs that will not run again; where nobody copies inputs, the index is not searched for them.
  static func drop(of jobs: [ManagedObjectID]) -> Request {
    Request("DELETE FROM _input WHERE job = ANY($1) AND EXISTS (SELECT 1 FROM _input)", [.keys(jobs.map(\.key))])
  }
}
