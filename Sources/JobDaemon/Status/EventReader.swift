import HTTPService
import Synchronization

/// A reader of events over HTTP, in the form of server-sent events.
///
/// It keeps its place among the events, and at most one event in part: what it has not read yet is in the ring that all
/// share. One that is overtaken by that is sent the end; its client comes back and reads anew.
final class EventReader: HTTPBodySource {
  private struct State {
    /// The number of the event that comes next.
    var place: UInt64
    /// The bytes before it that were not sent yet.
    var rest: ArraySlice<UInt8>
    var isBeatDue = false
    var stream: HTTPStream?
    /// The time from which on its right to read is asked for again.
    var nextCheck = ContinuousClock.now
  }

  let filter: EventFilter
  private let feed: EventFeed
  private let checkInterval: Duration
  private let mayRead: @Sendable () -> Bool
  private let state: Mutex<State>

  /// - Parameters:
  ///   - place: the number of the event that comes first.
  ///   - greeting: the text of the events that only this reader gets, before.
  ///   - checkInterval: the shortest time between two questions for its right to read.
  ///   - mayRead: asked before a look, and with each beat at the latest; false ends the stream.
  init(
    _ feed: EventFeed, _ filter: EventFilter, from place: UInt64, greeting: [UInt8],
    checkingEvery checkInterval: Duration, while mayRead: @escaping @Sendable () -> Bool
  ) {
    self.feed = feed
    self.checkInterval = checkInterval
    self.filter = filter
    self.mayRead = mayRead
    // After so many milliseconds a browser comes back.
    state = Mutex(State(place: place, rest: (Array("retry: 2000\n\n".utf8) + greeting)[...]))
  }

  func begin(_ stream: HTTPStream) {
    state.withLock { $0.stream = stream }
    feed.add(self)
  }

  func end() { feed.remove(self) }

  /// Has the reader look for events.
  func wake() { state.withLock { $0.stream }?.wake() }

  /// Sends a comment, by which both sides notice that the other is there.
  func beat() {
    let stream = state.withLock { state in
      state.isBeatDue = true
      return state.stream
    }
    stream?.wake()
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> HTTPBodyPart {
    let isCheckDue = state.withLock { state in
      let now = ContinuousClock.now
      guard state.isBeatDue || now >= state.nextCheck else { return false }
      state.nextCheck = now + checkInterval
      return true
    }
    if isCheckDue, !mayRead() { return .end }
    return state.withLock { state in
      var count = 0
      while count < buffer.count {
        if state.rest.isEmpty {
          switch feed.next(from: state.place, filter) {
          case .overtaken: return count > 0 ? .bytes(count) : .end
          case .nothing(let place):
            state.place = place
            if count == 0, state.isBeatDue { state.rest = [UInt8](":\n\n".utf8)[...] }
            state.isBeatDue = false
            if state.rest.isEmpty { return count > 0 ? .bytes(count) : .nothingYet }
          case .event(let text, let number):
            state.place = number + 1
            state.rest = text[...]
          }
        }
        let part = state.rest.prefix(buffer.count - count)
        UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).copyBytes(from: part)
        count += part.count
        state.rest = state.rest.dropFirst(part.count)
      }
      return .bytes(count)
    }
  }
}
