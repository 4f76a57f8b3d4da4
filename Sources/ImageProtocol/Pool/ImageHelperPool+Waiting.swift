internal import SystemSupport

extension ImageHelperPool {
  typealias WaitObserver = @Sendable (String?) -> Void

  /// Waits until a job may have a helper.
  func take(_ place: PoolPlace, by deadline: Deadline, _ onWait: WaitObserver) async throws(ImageError) {
    try await take(1, of: slots, by: deadline, tooLate: .waitedTooLong) {
      onWait($0 ? "waiting for an image helper" : nil)
    }
    place.isTaken = true
  }

  /// Waits for something while another job has the place; the helper waits, too, with what it knows of its picture.
  ///
  /// Who has a place never waits for anybody without one, so that all come to their end.
  func aside<Value>(
    _ leased: LeasedHelper, _ place: PoolPlace, by deadline: Deadline, _ onWait: WaitObserver,
    until wait: () async throws(ImageError) -> Value
  ) async throws(ImageError) -> Value {
    do throws(ImageError) {
      place.isTaken = false
      slots.giveBack(1)
      helpersAside += 1
      defer { helpersAside -= 1 }
      let value = try await wait()
      try await take(place, by: deadline, onWait)
      return value
    } catch {
      // It waits for an answer that it won't get.
      discard(leased.helper, killing: true)
      throw error
    }
  }

  /// Waits for the memory that a helper asks for; the caller gives it back.
  func takeMemory(
    _ asked: Int, for leased: LeasedHelper, _ place: PoolPlace, by deadline: Deadline, _ onWait: WaitObserver
  ) async throws(ImageError) {
    guard asked <= configuration.sharedMemory else {
      discard(leased.helper, killing: true)
      throw .needsTooMuch(asked, of: configuration.sharedMemory)
    }
    if memory.takeNow(asked) { return }
    var isGiven = false
    do throws(ImageError) {
      try await aside(leased, place, by: deadline, onWait) { () async throws(ImageError) in
        try await take(asked, of: memory, by: deadline, tooLate: .waitedTooLongForMemory) {
          onWait($0 ? "waiting for \(asked >> 20) MiB of memory that other pictures have" : nil)
        }
        isGiven = true
      }
    } catch {
      if isGiven { memory.giveBack(asked) }
      throw error
    }
  }
}
