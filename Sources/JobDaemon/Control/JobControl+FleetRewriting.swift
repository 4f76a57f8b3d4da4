import Fleet
import JSONText
import JobSchedule
import Jobs
import ObjectGraph

/// Other specifications and arguments for jobs of a fleet, which its lead puts on record.
extension JobControl {
  // MARK: Replacing

  /// Waits until the lead has made the replacements of a file, and then for the ends of the jobs, which release the file.
  func awaitReplacements(by file: AdmittedFile, on membership: Membership) {
    guard let replacing = file.replacing else { return }
    replacing.answer.whenSet { [self] answer in
      queue.async { [self] in
        do {
          guard case .outcomes(let outcomes) = try answer.get() else { throw NoAnswer.otherRelease }
          // A job was removed meanwhile, so that the file has a new one.
          if outcomes.contains(.unknown) { engine.events.send(.doubtful(file.file.name)) }
          whenFree(file.replacements.map(\.job), on: membership) { [self] in
            for one in file.replacements { follow(one, on: membership) }
            engine.meter.noteChange(of: file.replacements.map(\.job))
            replacing.end.set(())
          }
        } catch {
          engine.report(error, "the jobs of the file \(file.file.name) can't be replaced before the next start")
          replacing.end.set(())
        }
      }
    }
  }

  /// Calls back when earlier ends of jobs here are released, which would be taken for those of their new runs otherwise.
  private func whenFree(
    _ jobs: [ManagedObjectID], on membership: Membership, _ call: @escaping @Sendable () -> Void
  ) {
    // Behind a look that may have read such an end, and not acted on it yet.
    membership.looks.async { [engine, queue] in
      let over = engine.scheduler.read { schedule, _ in jobs.filter { schedule.state(of: $0)?.isFinal == true } }
      if over.isEmpty { return queue.async(execute: call) }
      let countdown = Countdown(over.count)
      engine.waiters.add(over, to: engine.scheduler) {
        if countdown.reachesZero() { queue.async(execute: call) }
      }
    }
  }

  /// Releases the file of a replacement with the end of its job, wherever that runs.
  ///
  /// - Parameter isTold: true if it was reported that the end can't be read.
  private func follow(_ replacement: Replacement, on membership: Membership, isTold: Bool = false) {
    let (id, specification) = (replacement.job, replacement.specification)
    // It may be here already, with the file that it came in.
    _ = engine.scheduler.addUnlessKnown([
      NewJob(
        elsewhere: id, file: nil, type: specification.type, queue: specification.queue, name: specification.id ?? "")
    ])
    membership.watch([id])
    engine.waiters.add([id], to: engine.scheduler) { [self] in
      queue.async { [self] in noteEnd(of: replacement, on: membership, isTold: isTold) }
    }
  }

  private func noteEnd(of replacement: Replacement, on membership: Membership, isTold: Bool) {
    do {
      let end = try membership.reader().records(of: [replacement.job])[replacement.job]?.job
      // An earlier end may have been what left the schedule.
      if let end, !end.state.isFinal { return follow(replacement, on: membership) }
      engine.events.send(.superseded((end ?? .removed(replacement.job)).with(replacement.file)))
    } catch {
      // That the database is away is told elsewhere.
      let isNews = !error.isTransient && !isTold
      if isNews {
        engine.report(error, "the end of a job that the file \(replacement.fileName) replaces can't be read yet")
      }
      // As long as it is watched, each answer of the database tells of its end once more.
      follow(replacement, on: membership, isTold: isTold || isNews)
    }
  }

  // MARK: Editing

  /// Has the lead edit a job.
  func perform(_ edit: JobEdit, of id: ManagedObjectID, named name: String, on membership: Membership) throws {
    // Its record as it is now: what this host has read of it may be older than another host's edit.
    guard let known = try membership.reader().known([name]).first(where: { $0.id == id }) else {
      throw EditRefusal.unknown(name)
    }
    let earlier = try JobSpecification(known)
    let arguments = try newArguments(edit, of: earlier, name)
    if edit.changesArguments {
      var specification = earlier
      specification.arguments = arguments
      let place = LocalFiles(
        configuration: engine.policy.configuration.value.fleet, handlers: engine.handlers,
        payloadDirectory: engine.payloadDirectory, spool: membership.spool
      ).place(of: specification)
      // Files that not all hosts see, or not for the same user, are where the job came to.
      if let spool = known.spool, spool != membership.spool, ![specification.place, known.place].contains(place) {
        throw EditRefusal.elsewhere(name, spool)
      }
      let change = ArgumentChange(job: id, arguments: arguments, seen: earlier.arguments, place: place)
      try check(try membership.ask(.edit(change)), name)
    }
    if let priority = edit.priority {
      try check(try membership.ask(.command(.setPriority(priority), [Order.Target(id, attempts: 1)])), name)
    }
    engine.meter.noteChange(of: [id])
  }

  private func check(_ answer: OrderAnswer.Content, _ name: String) throws {
    guard case .outcomes(let outcomes) = answer, let outcome = outcomes.first else { throw NoAnswer() }
    switch outcome {
    case .done: return
    case .unknown: throw EditRefusal.unknown(name)
    case .impossible(let state), .keyTaken(let state, _), .needed(let state, _):
      throw EditRefusal.impossible(name, state)
    case .begun: throw EditRefusal.begun(name)
    case .replacing: throw EditRefusal.replacing(name)
    case .changed: throw EditRefusal.changed(name)
    }
  }
}

extension JobSpecification {
  /// As far as an edit needs it: its type, arguments and rare keys.
  fileprivate init(_ known: KnownJob) throws {
    self.init(type: known.type, id: known.name, arguments: try JSONValue(parsing: known.arguments.utf8))
    if let options = known.options { try readOptions(options) }
  }
}
