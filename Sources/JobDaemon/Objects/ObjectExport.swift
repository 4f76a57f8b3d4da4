import Foundation
import HTTPService
import ObjectGraph
import Synchronization

/// The objects of a query as text, page by page, so that there may be any number of them.
struct ObjectPages: Sendable {
  /// The text of a page, about; an object more at most.
  private static let pageBytes = 512 << 10
  private static let longestPage = 10_000

  private let reader: ObjectReader
  private let csv: ObjectCSV?
  private let json: ObjectJSON
  /// Packs the text for a client that takes that; the pages have to be asked for in their order.
  private let packer: GzipStream?
  private var position: ObjectPosition?
  /// The objects that are still wanted; nil for all.
  private var left: Int?
  private var isBegun = false
  private var isOver = false
  /// Grows while objects are small, since an order without an index is made anew for each page.
  private var pageSize = 200

  /// - Parameters:
  ///   - position: the place to begin behind; nil for the beginning.
  ///   - limit: the most objects; nil for all.
  ///   - packer: packs the text; nil for a plain one.
  /// - Throws: ``ObjectQueryError`` if the format has no place for what the query shows.
  init(
    _ reader: ObjectReader, as format: ObjectFormat, after position: ObjectPosition?, limit: Int?,
    packer: GzipStream?
  ) throws(ObjectQueryError) {
    self.reader = reader
    csv = format == .csv ? try ObjectCSV(reader.query) : nil
    json = ObjectJSON(inlineLimit: reader.query.inlineLimit)
    (self.position, left, self.packer) = (position, limit, packer)
  }

  /// Returns the next page's text; nil if there are no more.
  mutating func next() throws -> Data? {
    if isOver { return nil }
    var text = Data()
    if !isBegun, let csv { text.append(contentsOf: csv.header) }
    isBegun = true
    let limit = min(pageSize, left ?? .max)
    var count = 0
    position = try reader.read(after: position, limit: limit) { object in
      guard count == 0 || text.count < Self.pageBytes else { return false }
      if let csv {
        text.append(contentsOf: try csv.line(object))
      } else {
        text.append(contentsOf: try json.value(object).serializedBytes())
        text.append(UInt8(ascii: "\n"))
      }
      count += 1
      return true
    }
    left = left.map { $0 - count }
    if position == nil || left == 0 { isOver = true }
    if count == pageSize { pageSize = min(pageSize * 2, Self.longestPage) }
    return packer?.pack(text, isLast: isOver) ?? text
  }
}

/// A reply with any number of objects, whose pages are read when its client has taken in those before.
final class ObjectExport: HTTPBodySource {
  private enum Step {
    /// The text that is being sent. Next: reading.
    case sending(Data)
    /// The next page is read. Next: sending, over.
    case reading
    case over(isComplete: Bool)
  }

  private struct State {
    var step: Step
    var pages: ObjectPages
    var stream: HTTPStream?
    var task: Task<Void, Never>?
  }

  let isDocument = true
  private let state: Mutex<State>
  private let reads: ObjectReads
  private let limit: Duration
  private let report: @Sendable (any Error) -> Void

  /// - Parameters:
  ///   - first: the text of the first page.
  ///   - pages: those behind it.
  ///   - limit: the time for each.
  ///   - report: told why the reply is broken off.
  init(
    _ first: Data, then pages: ObjectPages, _ reads: ObjectReads, limit: Duration,
    report: @escaping @Sendable (any Error) -> Void
  ) {
    state = Mutex(State(step: .sending(first), pages: pages))
    (self.reads, self.limit, self.report) = (reads, limit, report)
  }

  func begin(_ stream: HTTPStream) { state.withLock { $0.stream = stream } }

  func end() {
    state.withLock { state in
      state.step = .over(isComplete: false)
      return state.task
    }?.cancel()
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> HTTPBodyPart {
    let part = state.withLock { state -> HTTPBodyPart? in
      switch state.step {
      case .over(let isComplete): return isComplete ? .end : .brokenOff
      case .reading: return .nothingYet
      case .sending(let text):
        if text.isEmpty { break }
        let count = text.copyBytes(to: buffer)
        state.step = .sending(text.dropFirst(count))
        return .bytes(count)
      }
      state.step = .reading
      return nil
    }
    if let part { return part }
    readNext()
    return .nothingYet
  }

  private func readNext() {
    let pages = state.withLock { $0.pages }
    let task = reads.start(within: limit) {
      var pages = pages
      return (try pages.next(), pages)
    } then: { [weak self] result in
      self?.take(result)
    }
    state.withLock { $0.task = task }
  }

  private func take(_ result: Result<(Data?, ObjectPages), any Error>) {
    let (stream, isAwaited) = state.withLock { state in
      // Nobody is told of a read that ended because its client has left.
      guard case .reading = state.step else { return (state.stream, false) }
      switch result {
      case .success((let text?, let pages)):
        (state.step, state.pages) = (.sending(text), pages)
      case .success: state.step = .over(isComplete: true)
      case .failure: state.step = .over(isComplete: false)
      }
      return (state.stream, true)
    }
    if isAwaited, case .failure(let error) = result { report(error) }
    stream?.wake()
  }
}
