/// An error of opening, reading or saving a store.
public struct StoreError: Error, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
  /// The kind of a store error; open, so that more can be added.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The code as text, which stays the same from release to release.
    public let rawValue: String
    /// A code by its text: one of those below, one of a later release, or one of your own.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The file is no store, or damaged.
    public static let notAStore = Code(rawValue: "not-a-store")
    /// The file is damaged.
    public static let corrupt = Code(rawValue: "corrupt")
    /// The store was written by a newer version or with another model.
    public static let incompatibleModel = Code(rawValue: "incompatible-model")
    /// The file can't be opened.
    public static let cannotOpen = Code(rawValue: "cannot-open")
    /// The disk or quota is full: nothing was written; trying again later may succeed.
    public static let full = Code(rawValue: "full")
    /// Another process holds the store; trying again may succeed.
    public static let busy = Code(rawValue: "busy")
    /// The store can't be reached just now: nothing was written; trying again later may succeed.
    public static let unavailable = Code(rawValue: "unavailable")
    /// Reading or writing failed. After a failed save, whether it is on disk is unknown until the store is opened again.
    public static let inputOutput = Code(rawValue: "input-output")
    /// The store is open for reading only.
    public static let readOnly = Code(rawValue: "read-only")
    /// A uniqueness constraint or primary key would be violated.
    public static let constraint = Code(rawValue: "constraint")
    /// The coordinator has no store, or the store is closed.
    public static let noStore = Code(rawValue: "no-store")
    /// Transactions after a history token were deleted, so that what has come since can't be told any more.
    public static let expiredHistoryToken = Code(rawValue: "expired-history-token")
    /// A fetch can't be answered by this store.
    public static let unsupported = Code(rawValue: "unsupported")
    /// This process may write no more, since others have its work: nothing was written.
    package static let fenced = Code(rawValue: "fenced")
    /// The transaction is not the next one of its slot: the process was fenced, or the same was written before.
    package static let stale = Code(rawValue: "stale")
    /// The fence held, and what is to be ended was not there: nothing was written, and the process must stop.
    package static let contradiction = Code(rawValue: "contradiction")
  }

  /// The kind of failure.
  public var code: Code
  /// The problem and the remedy, safe to show: no values, no SQL.
  public var message: String
  /// The path of the store's file.
  public var path: String?
  /// The SQL or other detail for developers; shown in `debugDescription` only.
  public var detail: String?
  /// The properties of the uniqueness constraint that would be violated.
  package private(set) var properties: [String] = []

  /// An error of a store; for stores.
  public init(_ code: Code, _ message: String, path: String? = nil, detail: String? = nil) {
    self.code = code
    self.message = message
    self.path = path
    self.detail = detail
  }

  /// A uniqueness constraint would be violated.
  package init(violated properties: [String], of entity: String, path: String? = nil, detail: String? = nil) {
    let names = properties.map { "\(entity).\($0)" }.joined(separator: " and ")
    self.init(.constraint, "another object has the same \(names)", path: path, detail: detail)
    self.properties = properties
  }

  /// True if nothing was written and trying again later may succeed: the disk is full, the store is busy or away.
  public var isTransient: Bool { code == .full || code == .busy || code == .unavailable }

  /// The path and the message.
  public var description: String { (path.map { "\($0): " } ?? "") + message }
  /// The path, the message, and the detail for developers.
  public var debugDescription: String { description + (detail.map { " [\($0)]" } ?? "") }
}
