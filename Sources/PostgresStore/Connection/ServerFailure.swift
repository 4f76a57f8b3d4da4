import CPostgres
import StoreInterface

/// Turns what a server or libpq reports into store errors.
enum ServerFailure {
  /// The error that a result tells of.
  ///
  /// - Parameters:
  ///   - role: that of the connection.
  ///   - constraints: the uniqueness constraints by the names of their indexes.
  ///   - sql: the statement, for developers.
  static func error(
    of result: OpaquePointer, place: String, role: String, constraints: [String: UniqueConstraint], sql: String?
  ) -> StoreError {
    let state = text(postgres_error_state(result)) ?? ""
    let primary = text(postgres_error_text(result)) ?? ""
    let detail = "\(state): \(primary)" + (sql.map { "; \($0)" } ?? "")
    if state == "23505", let name = text(postgres_error_constraint(result)), let unique = constraints[name] {
      return StoreError(violated: unique.properties, of: unique.entity, path: place, detail: detail)
    }
    if state == demandState {
      return StoreError(
        StoreError.Code(rawValue: primary), "a demand of \(primary) was not met: nothing was written", path: place,
        detail: detail)
    }
    let (code, message) = meaning(of: state, role: role)
    return StoreError(code, message, path: place, detail: detail)
  }

  /// The advice where a pooler turned up that nobody told of.
  static let poolerAdvice =
    "a pooler such as pgbouncer answers, which keeps no settings of a connection; add the parameter pooled=yes to the "
    + "address, as in postgresql://host:6432/database?pooled=yes, or name the server itself"

  /// The SQLSTATE of statements that accompany a transaction and do not let it pass; the message is the error's code.
  static let demandState = "BF000"

  /// The code and the message for people of an SQLSTATE; its first two characters are the class.
  private static func meaning(of state: String, role: String) -> (StoreError.Code, String) {
    switch state {
    case "23505":
      return (.constraint, "another row has the primary key of a new one; was it written by another program?")
    case "40001", "40P01":
      return (.busy, "the transaction met another one: nothing was written; try again")
    case "55P03":
      return (.busy, "another transaction holds what is to be written: nothing was written; try again")
    case "57014":
      return (.busy, "the server ended the statement since it took too long: nothing was written; try again later")
    case "53100":
      return (.full, "the disk of the server is full: nothing was written; make room and try again")
    case "22003":
      return (.constraint, "a number is too large for its column, or a table has no primary keys left")
    case "25006":
      return (
        .readOnly,
        "the server takes no changes; it is a standby, or the database or the role \(role) is set to read only"
      )
    case "42501":
      return (
        .readOnly,
        "the role \(role) lacks a right to the tables of the store, or to make or change them; their owner can grant the rights "
          + "to rows by GRANT, and where the models have changed, start once as the owner"
      )
    case "58030":
      return (.inputOutput, "the server could not read or write its files; look at its log and its disk")
    case "XX001", "XX002":
      return (.corrupt, "the database is damaged; look at the log of the server, and restore it from a backup")
    case "42P01", "42703", "0A000":
      return (
        .incompatibleModel,
        "the tables of the store are not those of this model any more: another host has brought them to another "
          + "model; open the store anew, with that model"
      )
    case "22021", "22P05":
      return (.unsupported, "a text holds the character U+0000, which PostgreSQL does not store")
    case "54000":
      return (
        .unsupported, "a value is larger than PostgreSQL stores or indexes; let its attribute use external storage"
      )
    default: break
    }
    switch state.prefix(2) {
    case "08", "57", "53":
      return (.unavailable, "the server can't serve just now: nothing was written; try again later")
    case "25" where state == "25P03", "25" where state == "25P04":
      return (.unavailable, "the server ended the transaction since nothing came for too long: nothing was written")
    case "23": return (.constraint, "the database refuses a value: SQLSTATE \(state)")
    case "22", "42", "54", "P0":
      return (.unsupported, "the server refuses a value or a statement, now and later: SQLSTATE \(state)")
    default:
      return (.inputOutput, "the server refused a statement in a way that was not expected (SQLSTATE \(state))")
    }
  }

  /// The error of a connection that could not be made.
  ///
  /// - Parameters:
  ///   - message: libpq's, in its verbose form, which has SQLSTATE codes; it never quotes passwords.
  ///   - role: the one that it was to be made for.
  static func connecting(_ message: String, place: String, role: String) -> StoreError {
    let lines = message.split(separator: "\n").filter { !$0.hasPrefix("LOCATION:") }
    let text = lines.joined(separator: "; ")
    func make(_ code: StoreError.Code, _ advice: String) -> StoreError {
      StoreError(code, advice, path: place, detail: text)
    }
    if text.contains(" 28P01: ") || text.contains("no password supplied") {
      return make(
        .cannotOpen,
        "the server refuses the password of the role \(role); write a line host:port:database:user:password into the password file, with "
          + "mode 0600")
    }
    if text.contains(" 28000: ") {
      return make(
        .cannotOpen, "the server does not let the role \(role) in; see its pg_hba.conf, and whether the role exists")
    }
    if text.contains(" 3D000: ") {
      return make(.cannotOpen, "there is no such database on the server; make it by createdb")
    }
    if text.contains(" 42501: ") {
      return make(.cannotOpen, "the role \(role) may not connect to the database; its owner can GRANT CONNECT")
    }
    if text.contains("unsupported startup parameter") {
      return make(.cannotOpen, poolerAdvice)
    }
    let distrust = lines.filter(isOfDistrust)
    if !distrust.isEmpty {
      return make(
        .cannotOpen,
        "the server's certificate is not accepted: \(reason(in: distrust)); check sslrootcert, the host's name and the "
          + "certificate's dates")
    }
    if text.contains("session is read-only") || text.contains("server is in hot standby mode") {
      return make(.unavailable, "only a standby answers, which takes no changes; promote it, or name the primary")
    }
    return make(.unavailable, "the database can't be reached: \(reason(in: lines)); is the server up?")
  }

  /// True for a line of libpq's that tells of a server which does not prove who it is, and not of one that went meanwhile.
  private static func isOfDistrust(_ line: Substring) -> Bool {
    let words = ["certificate", "SSL error", "support SSL"]
    return words.contains(where: line.contains) && !line.contains("unexpected eof")
  }

  /// The end of what libpq says, without the sentence about which host it was.
  private static func reason(in lines: [Substring]) -> String {
    guard let last = lines.first(where: { $0.contains("failed: ") }) ?? lines.first else { return "no reason is known" }
    return last.split(separator: "failed: ", maxSplits: 1).last.map(String.init) ?? String(last)
  }

  /// The error of a connection that broke before a commit was sent.
  static func lost(_ reason: String, place: String) -> StoreError {
    let words = reason.split(separator: "\n").first ?? "no reason is known"
    return StoreError(
      .unavailable, "the connection to the database broke (\(words)): nothing was written; try again", path: place,
      detail: String(words))
  }

  private static func text(_ pointer: UnsafePointer<CChar>?) -> String? { pointer.map { String(cString: $0) } }
}

/// A uniqueness constraint of the model, for errors.
struct UniqueConstraint: Sendable {
  let entity: String
  let properties: [String]
}
