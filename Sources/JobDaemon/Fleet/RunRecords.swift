import Fleet
import JobSchedule
import ObjectGraph

/// The records of the jobs of runs that are to begin: read together, or one by one if not all of them can be read.
struct RunRecords {
  private(set) var read: [(run: Run, job: NewJob)] = []
  /// Runs whose jobs have no records any more.
  private(set) var missing: [Run] = []
  /// Runs whose jobs can't be read for good, with the reasons.
  private(set) var unreadable: [(run: Run, error: any Error)] = []
  /// Runs whose jobs are to be read later.
  private(set) var postponed: [Run] = []
  /// The reason why some are postponed; nil if none are.
  private(set) var obstacle: StoreError?

  /// - Parameter read: reads the jobs that there are.
  init(of runs: [Run], by read: ([ManagedObjectID]) throws -> [NewJob]) { add(runs, by: read) }

  private mutating func add(_ runs: [Run], by read: ([ManagedObjectID]) throws -> [NewJob]) {
    do {
      let jobs = Dictionary(try read(runs.map(\.job)).map { ($0.id, $0) }) { first, _ in first }
      for run in runs { if let job = jobs[run.job] { self.read.append((run, job)) } else { missing.append(run) } }
    } catch let error as StoreError where error.isTransient {
      postponed += runs
      obstacle = error
    } catch {
      guard let run = runs.first, runs.count == 1 else { return runs.forEach { add([$0], by: read) } }
      unreadable.append((run, error))
    }
  }
}
