import Dispatch
package import ImageProtocol
package import Jobs
import Synchronization
package import SystemSupport

/// A few helper processes that decode and encode pictures, so that a hostile one costs a helper and not the daemon.
///
/// Helpers are started when they are needed, kept for the next job, and replaced after a number of jobs, a crash or a
/// hang. Jobs beyond the pool's size wait in the order they came, and so do pictures that take much memory.
package actor ImageHelperPool {
  private let executor = PoolExecutor()
  private var configuration: ImageHelperConfiguration
  private let slots: Quota
  /// In bytes, beyond what each helper may take without asking.
  private let memory: Quota
  /// The number of helpers that wait, having left their place to others.
  private var helpersAside = 0
  private var idle: [LeasedHelper] = []
  private var helpers: [ObjectIdentifier: ImageHelper] = [:]
  private var lastNumber: UInt64 = 0
  private nonisolated let counted = Mutex(HelperCounts())

  package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// Starts no helper yet.
  package init(configuration: ImageHelperConfiguration) {
    self.configuration = configuration
    slots = Quota(configuration.size)
    memory = Quota(configuration.sharedMemory)
  }

  /// Changes what holds for helpers; how many there are, and their memory together, stay as they are.
  ///
  /// The limits of processes hold for helpers that are started from now on.
  package func reconfigure(_ new: ImageHelperConfiguration) {
    configuration.arguments = new.arguments
    configuration.jobsPerHelper = new.jobsPerHelper
    configuration.wallClockLimit = new.wallClockLimit
    configuration.recycleMemory = new.recycleMemory
  }

  /// The helpers so far.
  package nonisolated var counts: HelperCounts { counted.withLock { $0 } }

  /// The process IDs of the living helpers.
  package var processIDs: [Int32] { helpers.values.map(\.child.processID).sorted() }

  /// Has a picture decoded and encoded.
  ///
  /// When this returns, every output is written; syncing and renaming them is the caller's, so that the helper
  /// has the next picture meanwhile. After an error the outputs may hold parts. Cancelling the task kills the helper.
  ///
  /// - Parameters:
  ///   - request: What to make.
  ///   - input: Open for reading; stays the caller's, and must stay open until this returns.
  ///   - outputs: Empty files open for reading and writing, as many for each output as it says, under the same
  ///     conditions.
  ///   - reuse: Knows outputs that were made before.
  ///   - deadline: When to give up, time in the queue included; the configured limit for one job holds besides.
  ///   - onWait: Called with what the picture waits for, and with nil when the wait ends.
  ///   - didMake: Called with the number of outputs that are there, of several, as they are made.
  /// - Throws: What is wrong with the request, the picture or the helper; `permanent` tells whether to try again.
  package func encode(
    _ request: ImageRequest, input: Int32, outputs: [Int32], reuse: (any ImageReuse)? = nil,
    deadline: Deadline = .never, onWait: @Sendable (String?) -> Void = { _ in },
    didMake: @Sendable (Int) -> Void = { _ in }
  ) async throws(ImageError) -> ImageReply {
    try request.validate()
    guard outputs.count == request.fileCount else {
      throw .invalidRequest("\(request.fileCount) files were asked for, but \(outputs.count) came")
    }
    let place = PoolPlace()
    defer { if place.isHeld { slots.return(1) } }
    try await acquire(place, by: deadline, onWait: onWait)
    lastNumber += 1
    let number = lastNumber
    let freeMemory = reuse == nil ? ImageHelperConfiguration.freeMemory : -1
    let bytes = try ImageMessage.encode(
      ImageMessage.Request(
        number: number, request: request, freeMemory: freeMemory, tellsProgress: request.outputs.count > 1))
    var leased = try send(bytes, descriptors: [input] + outputs)
    var answer = try await answer(of: leased, number: number, request: request, deadline: deadline, didMake: didMake)
    leased.noteAddressSpace()
    guard let question = answer.question else { return try finish(leased, answer) }
    var known = KnownPictures()
    if let reuse {
      // Another job may be making the same, and needs a place for it.
      known = try await aside(leased, place, by: deadline, onWait: onWait) { () async throws(ImageError) in
        await reuse.pictures(of: question.input)
      }
    }
    if known.isAll(of: request) {
      permit(leased, known.permission(number), files: known.files)
      answer = try await self.answer(of: leased, number: number, request: request, deadline: deadline)
      return known.completing(try finish(leased, answer), of: request)
    }
    let asked = max(0, question.memory - ImageHelperConfiguration.freeMemory)
    try await acquireMemory(asked, for: leased, place, by: deadline, onWait: onWait)
    defer { memory.return(asked) }
    permit(leased, known.permission(number), files: known.files + (reuse.map { [$0.inputCopy] } ?? []))
    answer = try await self.answer(of: leased, number: number, request: request, deadline: deadline, didMake: didMake)
    return known.completing(try finish(leased, answer), of: request)
  }

  private func finish(_ leased: LeasedHelper, _ answer: ImageMessage.Answer) throws(ImageError) -> ImageReply {
    let failed = answer.error.map { answer.hasBegun == true || $0.code == .outOfMemory } ?? false
    keep(leased, isSpent: failed)
    if var error = answer.error {
      if failed && leased.jobs > 1 && [.outOfMemory, .encoding].contains(error.code) {
        // Pictures before this one may have left it too little; the next attempt is to have a fresh one.
        error.permanent = false
        discardIdle()
      }
      throw error
    }
    guard let reply = answer.reply else { throw .protocolMismatch("the image helper answered nothing") }
    return reply
  }

  /// Ends the helpers: idle ones at once, working ones when they are done or at the deadline. No job begins afterwards.
  package func shutDown(by deadline: Deadline) async {
    slots.close()
    memory.close()
    let all = helpers.values
    discardIdle()
    for helper in all {
      do { _ = try await helper.child.termination(killingAt: deadline) } catch { helper.kill() }
    }
  }

  /// Hands a request to an idle helper, or to a new one.
  private func send(_ bytes: [UInt8], descriptors: [Int32]) throws(ImageError) -> LeasedHelper {
    while var leased = idle.popLast() {
      do {
        try leased.helper.send(bytes, descriptors: descriptors)
        leased.jobs += 1
        return leased
      } catch {
        // It ended while it was idle, and no job with it.
        discard(leased.helper)
      }
    }
    let helper: ImageHelper
    do { helper = try ImageHelper.start(configuration) } catch {
      throw ImageError(.helperNotStarted, "the image helper can't be started: \(error)", permanent: false)
    }
    counted.withLock { $0.started += 1 }
    helpers[ObjectIdentifier(helper)] = helper
    do { try helper.send(bytes, descriptors: descriptors) } catch {
      discard(helper)
      throw ImageError(.helperUnavailable, "the image helper can't be used: \(error)", permanent: false)
    }
    return LeasedHelper(helper: helper, jobs: 1)
  }

  private func permit(_ leased: LeasedHelper, _ permission: ImageMessage.Permission, files: [Int32]) {
    do {
      try leased.helper.send(try ImageMessage.encode(permission), descriptors: files)
    } catch {
      // If it has ended, the wait for its answer shows how.
      leased.helper.kill()
    }
  }

  /// Waits for a helper's question, reply or error; what it tells of its progress before is passed on.
  private func answer(
    of leased: LeasedHelper, number: UInt64, request: ImageRequest, deadline: Deadline,
    didMake: @Sendable (Int) -> Void = { _ in }
  ) async throws(ImageError) -> ImageMessage.Answer {
    let limit = Deadline.after(configuration.wallClockLimit).earlier(deadline)
    while true {
      let answer = try await message(of: leased.helper, number: number, request: request, by: limit)
      guard let made = answer.made else { return answer }
      didMake(made)
    }
  }

  /// Waits for what a helper says next.
  private func message(
    of helper: ImageHelper, number: UInt64, request: ImageRequest, by limit: Deadline
  ) async throws(ImageError) -> ImageMessage.Answer {
    switch await AnswerWait().outcome(of: helper, by: limit) {
    case .cancelled:
      discard(helper, killing: true)
      throw ImageError(.cancelled, "the job was cancelled", permanent: false)
    case .timedOut:
      counted.withLock { $0.failed += 1 }
      discard(helper, killing: true)
      throw ImageError(.timedOut, "the image helper took too long and was killed", permanent: false)
    case .readable:
      break
    }
    do {
      guard let bytes = try helper.receive() else { throw await death(of: helper, request: request) }
      let answer = try ImageMessage.decode(ImageMessage.Answer.self, from: bytes)
      guard answer.number == number else {
        throw ImageError.protocolMismatch("the image helper answered request \(answer.number) instead of \(number)")
      }
      return answer
    } catch {
      discard(helper, killing: true)
      throw error as? ImageError
        ?? ImageError(.helperUnavailable, "the image helper's answer can't be received: \(error)", permanent: false)
    }
  }

  private func death(of helper: ImageHelper, request: ImageRequest) async -> ImageError {
    guard let termination = await helper.termination() else {
      return ImageError(.helperDied, "the image helper closed its socket and can't be killed", permanent: false)
    }
    if slots.isClosed { return .poolIsShutDown }
    counted.withLock { $0.failed += 1 }
    return .helperDied(termination, request: request, lastWords: helper.lastWords())
  }

  /// - Parameter isSpent: whether something failed that may have left traces.
  private func keep(_ leased: LeasedHelper, isSpent: Bool) {
    let isUsedUp =
      isSpent || leased.jobs >= configuration.jobsPerHelper || leased.hasGrown(beyond: configuration.recycleMemory)
    if isUsedUp || slots.isClosed {
      discard(leased.helper)
    } else {
      idle.append(leased)
      discardSpare()
    }
  }

  /// Ends an idle helper if there are more than there should be, beside those that wait.
  func discardSpare() {
    if helpers.count - helpersAside > configuration.size, let spare = idle.popLast() { discard(spare.helper) }
  }

  private func discardIdle() {
    for leased in idle { discard(leased.helper) }
    idle = []
  }

  func discard(_ helper: ImageHelper, killing: Bool = false) {
    helpers[ObjectIdentifier(helper)] = nil
    if killing { helper.kill() } else { helper.retire() }
  }
}

extension ImageHelperPool {
  typealias WaitObserver = @Sendable (String?) -> Void

  /// Acquires a place, which lets a job have a helper.
  func acquire(_ place: PoolPlace, by deadline: Deadline, onWait: WaitObserver) async throws(ImageError) {
    try await acquire(1, of: slots, by: deadline, tooLate: .waitedTooLong) {
      onWait($0 ? "waiting for an image helper" : nil)
    }
    place.isHeld = true
  }

  /// Waits for something while another job has the place; the helper waits, too, with the header of its picture.
  ///
  /// A job with a place never waits for one without a place, so that there is no deadlock.
  func aside<Value>(
    _ leased: LeasedHelper, _ place: PoolPlace, by deadline: Deadline, onWait: WaitObserver,
    until wait: () async throws(ImageError) -> Value
  ) async throws(ImageError) -> Value {
    do throws(ImageError) {
      place.isHeld = false
      slots.return(1)
      helpersAside += 1
      defer { helpersAside -= 1 }
      let value = try await wait()
      try await acquire(place, by: deadline, onWait: onWait)
      return value
    } catch {
      // The helper waits for an answer that it won't get.
      discard(leased.helper, killing: true)
      throw error
    }
  }

  /// Acquires the memory that a helper asks for; the caller returns it.
  func acquireMemory(
    _ asked: Int, for leased: LeasedHelper, _ place: PoolPlace, by deadline: Deadline, onWait: WaitObserver
  ) async throws(ImageError) {
    guard asked <= configuration.sharedMemory else {
      discard(leased.helper, killing: true)
      throw .needsTooMuch(asked, of: configuration.sharedMemory)
    }
    if memory.acquireNow(asked) { return }
    var isGiven = false
    do throws(ImageError) {
      try await aside(leased, place, by: deadline, onWait: onWait) { () async throws(ImageError) in
        try await acquire(asked, of: memory, by: deadline, tooLate: .waitedTooLongForMemory) {
          onWait($0 ? "waiting for \(asked >> 20) MiB of memory that other pictures have" : nil)
        }
        isGiven = true
      }
    } catch {
      if isGiven { memory.return(asked) }
      throw error
    }
  }
}

extension ImageHelperPool {
  private static let timerQueue = DispatchQueue(label: "deadlines of pictures")

  /// Acquires an amount, in the order of requests; the caller returns it.
  ///
  /// - Parameters:
  ///   - tooLate: What to throw if the deadline comes first.
  ///   - onWait: Called at the beginning and at the end of the wait; not called if there is none.
  func acquire(
    _ amount: Int, of quota: Quota, by deadline: Deadline, tooLate: ImageError, onWait: (Bool) -> Void
  ) async throws(ImageError) {
    let ticket: UInt64
    switch quota.request(amount) {
    case .granted: return
    case .refused: throw .poolIsShutDown
    case .wait(let number): ticket = number
    }
    onWait(true)
    defer { onWait(false) }
    let timer = OneShotTimer(queue: Self.timerQueue)
    timer.arm(by: deadline) { quota.abandon(ticket, tooLate) }
    defer { timer.cancel() }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { quota.wait(ticket, $0) }
    } onCancel: {
      quota.abandon(ticket, ImageError(.cancelled, "the job was cancelled", permanent: false))
    }
    try result.get()
  }
}

/// A job's place among those that may run at the same time; it can be returned and acquired again.
final class PoolPlace {
  var isHeld = false
}

/// Runs the pool on a queue of its own, since starting a process blocks for a millisecond or more.
///
/// The tasks that come here prefer ``WorkQueues``; see Documentation/Design/0029 for why that is told to the runtime.
final class PoolExecutor: SerialExecutor {
  let queue = DispatchQueue(label: "bobbin.image-helpers")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async {
      job.runSynchronously(
        isolatedTo: self.asUnownedSerialExecutor(), taskExecutor: WorkQueues.tasks.asUnownedTaskExecutor())
    }
  }

  func checkIsolated() {
    dispatchPrecondition(condition: .onQueue(queue))
  }
}
