import CPostgres
import Foundation
import SQLGeneration
import StoreInterface

/// The servers that a store's connections may lead to, and libpq's settings for them.
struct ConnectionTarget: Sendable {
  /// The servers and the database, for messages; without user and password.
  let place: String
  /// Libpq's keywords with their values.
  let settings: [String: String]
  /// True if the address leads to a pooler that gives each transaction another connection.
  let isPooled: Bool
  /// The server's settings that the store needs, of the connection or, behind a pooler, of each transaction.
  private let parameters: [(name: String, value: String)]
  /// The time that connecting may take, for all servers together.
  let connectLimit: Duration
  /// The name of its sessions on the server.
  let applicationName: String
  /// The time that a statement may take, with some for the way.
  let answerLimit: Duration

  /// - Throws: ``StoreError/Code/cannotOpen`` if the address can't be read, names a password, or does not ask for a
  ///   verified server where others could listen.
  init(_ url: String, options: PostgresStoreOptions) throws(StoreError) {
    let (url, isPooled) = try Self.split(url)
    self.isPooled = isPooled
    var settings = try Self.parse(url)
    let defaults = Self.defaults()
    let hosts = Self.list(settings["host"] ?? defaults["host"])
    let addresses = Self.list(settings["hostaddr"] ?? defaults["hostaddr"])
    place = Self.place(hosts, settings, defaults: defaults)
    if settings["password"] != nil {
      throw StoreError(
        .cannotOpen,
        "the address of the database must not hold the password; put it into a password file, "
          + "which only its owner may read", path: place)
    }
    if settings["service"] != nil {
      throw StoreError(
        .cannotOpen,
        "the address of the database names a service file, which could switch off what protects the "
          + "connection; write out what stands in it", path: place)
    }
    let destinations = addresses.isEmpty ? hosts : addresses
    if isPooled {
      if destinations.count > 1 {
        throw StoreError(
          .cannotOpen,
          "the address of the database names several poolers, which don't tell whether their server takes changes; name "
            + "one that is led to the primary, or the servers themselves, without pooled=yes", path: place)
      }
      if settings["options"] ?? defaults["options"] != nil {
        throw StoreError(
          .cannotOpen,
          "a pooler passes no options on, as the address of the database or the environment variable PGOPTIONS asks for; "
            + "have the server make these settings by ALTER ROLE or ALTER DATABASE", path: place)
      }
    }
    if !destinations.allSatisfy(Self.isOnThisMachine) { try Self.demandVerifiedServer(&settings, place) }
    settings["client_encoding"] = "UTF8"
    // A pooler leaves a client's name on the connection of the server that it has lent. With the number of a host there, a
    // takeover would end the connection though others have it by then.
    settings["application_name"] =
      isPooled ? String(options.applicationName.prefix { $0 != "/" }) : options.applicationName
    applicationName = options.applicationName
    if let file = options.passwordFile { settings["passfile"] = file }
    let usual = [
      "connect_timeout": String(options.connectTimeout), "target_session_attrs": "read-write",
      "tcp_user_timeout": "5000", "keepalives": "1", "keepalives_idle": "2", "keepalives_interval": "1",
      "keepalives_count": "3",
    ]
    settings.merge(usual) { given, _ in given }
    // What a pooler tells of its server may be of long ago: transactions look for themselves.
    if isPooled { settings["target_session_attrs"] = "any" }
    parameters = Self.parameters(options)
    if !isPooled {
      // A statement that finds out behind a wait for others what they did has to see it. Within a transaction this is too late.
      let own = parameters + [("default_transaction_isolation", "read committed")]
      settings["options"] = ([settings["options"]].compactMap(\.self) + own.map(Self.commandLineSwitch))
        .joined(separator: " ")
    }
    self.settings = settings
    let seconds = Int(settings["connect_timeout"] ?? "") ?? options.connectTimeout
    // Libpq gives each address of each host the whole time.
    connectLimit = .seconds(max(2, seconds) * max(1, destinations.count) * 2)
    answerLimit = options.answerLimit ?? .seconds(options.statementTimeout + 5)
  }

  /// SQL that makes the settings of a transaction, where a connection can't keep them, and fails with SQLSTATE 25006 on a
  /// standby, also if the transaction only reads; nil where connections keep theirs, and lead to servers that take changes.
  ///
  /// - Parameter name: the name of the session, by which others find whoever has a transaction open.
  func transactionSettings(ofSession name: String) -> String? {
    if !isPooled { return nil }
    let values = (parameters + [("application_name", name)]).map {
      "set_config('\($0.name)', \(SchemaName.literal($0.value)), true)"
    }
    // A standby has no numbers for transactions.
    return "SELECT \(values.joined(separator: ", ")), CASE WHEN pg_is_in_recovery() THEN pg_current_xact_id()::text END"
  }

  private static func parameters(_ options: PostgresStoreOptions) -> [(name: String, value: String)] {
    [
      ("search_path", SchemaName.quoted(options.schemaName)), ("statement_timeout", "\(options.statementTimeout)s"),
      ("lock_timeout", "\(options.lockTimeout)s"), ("idle_in_transaction_session_timeout", "60s"), ("jit", "off"),
      ("client_min_messages", "warning"), ("bobbin.library", "yes"),
    ] + (options.searchesByIndex ? IndexSearch.settings : [])
  }

  /// A setting as the server is told it when a connection begins.
  private static func commandLineSwitch(_ name: String, _ value: String) -> String {
    // Spaces and backslashes would end a switch.
    "-c \(name)=\(value.replacing("\\", with: "\\\\").replacing(" ", with: "\\ "))"
  }

  /// An address as libpq reads it, and the value of the one parameter that is not libpq's.
  private static func split(_ url: String) throws(StoreError) -> (url: String, isPooled: Bool) {
    guard let start = url.firstIndex(of: "?") else { return (url, false) }
    let items = url[url.index(after: start)...].split(separator: "&", omittingEmptySubsequences: false)
    let (own, others) = (items.filter(isOwn), items.filter { !isOwn($0) })
    for item in own where item != "pooled=yes" && item != "pooled=no" {
      throw StoreError(
        .cannotOpen,
        "the address of the database says \(item); write pooled=yes if it leads to a pooler such as pgbouncer, or leave it out"
      )
    }
    let rest = others.isEmpty ? "" : "?" + others.joined(separator: "&")
    return (url[..<start] + rest, own.last == "pooled=yes")
  }

  /// True for the parameter that is not libpq's, however it is written.
  private static func isOwn(_ item: Substring) -> Bool {
    let name = item.prefix { $0 != "=" }
    return (name.removingPercentEncoding ?? String(name)).lowercased() == "pooled"
  }

  private static func parse(_ url: String) throws(StoreError) -> [String: String] {
    var message: UnsafeMutablePointer<CChar>?
    guard url.hasPrefix("postgresql://") || url.hasPrefix("postgres://"),
      let parsed = PQconninfoParse(url, &message)
    else {
      PQfreemem(message)
      // Libpq's message quotes the address, and with it what should not be shown.
      throw StoreError(
        .cannotOpen,
        "the address of the database can't be read; it looks like postgresql://user@host:5432/database")
    }
    defer { PQconninfoFree(parsed) }
    return values(parsed)
  }

  /// The values that libpq uses where the address says nothing: of its environment variables, and built into it.
  private static func defaults() -> [String: String] {
    guard let defaults = PQconndefaults() else { return [:] }
    defer { PQconninfoFree(defaults) }
    return values(defaults)
  }

  private static func values(_ options: UnsafeMutablePointer<PQconninfoOption>) -> [String: String] {
    var values: [String: String] = [:]
    var option = options
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.val, value.pointee != 0 {
        values[String(cString: keyword)] = String(cString: value)
      }
      option += 1
    }
    return values
  }

  private static func list(_ text: String?) -> [String] {
    guard let text, !text.isEmpty else { return [] }
    return text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
  }

  private static func place(_ hosts: [String], _ settings: [String: String], defaults: [String: String]) -> String {
    let ports = list(settings["port"] ?? defaults["port"])
    let servers = (hosts.isEmpty ? [""] : hosts).enumerated().map { index, host in
      let given = ports.isEmpty ? "" : ports[min(index, ports.count - 1)]
      let port = given.isEmpty ? "5432" : given
      return host.isEmpty ? "local:\(port)" : host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
    let database = settings["dbname"] ?? defaults["dbname"] ?? settings["user"] ?? defaults["user"] ?? ""
    return "postgresql://\(servers.joined(separator: ","))/\(database)"
  }

  /// True if no other machine takes part: a Unix socket, or an address of the loopback interface.
  private static func isOnThisMachine(_ host: String) -> Bool {
    if host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@") { return true }
    if host == "localhost" || host == "::1" { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }

  private static func demandVerifiedServer(
    _ settings: inout [String: String], _ place: String
  ) throws(StoreError) {
    guard let mode = settings["sslmode"], mode != "verify-full" else {
      settings["sslmode"] = "verify-full"
      return
    }
    throw StoreError(
      .cannotOpen,
      "the address of the database says sslmode=\(mode), with which anybody between could read and change everything; "
        + "write sslmode=verify-full, and sslrootcert= with the file of the certificate authority", path: place)
  }
}
