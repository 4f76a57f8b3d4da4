import Foundation
import PostgresStore
package import SQLGeneration
import SQLiteStore
package import StoreInterface

/// The place of a store that is copied or compared.
package enum StoreAddress: Sendable, Hashable, CustomStringConvertible {
  /// The path of a database of SQLite's.
  case sqlite(String)
  /// An address as libpq reads it.
  case postgres(String)

  /// Reads a path, with or without `sqlite:`, or an address that begins with `postgresql://` or `postgres://`.
  package init(_ text: String) {
    if text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") {
      self = .postgres(text)
    } else {
      self = .sqlite(text.hasPrefix("sqlite:") ? String(text.dropFirst("sqlite:".count)) : text)
    }
  }

  /// The text that is read again; an address may hold the name of a user.
  package var description: String {
    switch self {
    case .sqlite(let path): path
    case .postgres(let url): url
    }
  }

  /// Opens the store for reading.
  ///
  /// - Parameter isAlone: true if nobody else may have it open.
  package func source(isAlone: Bool) throws(StoreError) -> any CopySource {
    switch self {
    case .sqlite(let path): try SQLiteCopySource(path: Self.absolute(path), isAlone: isAlone)
    case .postgres(let url): try PostgresCopySource(url: url, isAlone: isAlone)
    }
  }

  /// The daemons of a fleet that use the store, or did so ten seconds ago, by the names of their spools.
  package func users() throws(StoreError) -> [String] {
    if case .postgres(let url) = self { try PostgresCopySource.users(url: url) } else { [] }
  }

  /// Begins a new store, or goes on with an unfinished one.
  func target(of store: CopiedStore) throws(StoreError) -> any CopyTarget {
    switch self {
    case .sqlite(let path): try SQLiteCopyTarget(path: Self.absolute(path), of: store)
    case .postgres(let url): try PostgresCopyTarget(url: url, of: store)
    }
  }

  /// The obstacle that the address itself is for a new store; nil if there is none.
  func obstacle(for store: CopiedStore) -> String? {
    do throws(StoreError) {
      switch self {
      case .sqlite(let path): try SQLiteCopyTarget.check(path: Self.absolute(path), for: store)
      case .postgres(let url): try PostgresCopyTarget.check(url: url, for: store)
      }
      return nil
    } catch { return "\(error)" }
  }

  package var isPostgres: Bool { if case .postgres = self { true } else { false } }

  private static func absolute(_ path: String) -> String { URL(fileURLWithPath: path).standardizedFileURL.path }
}
