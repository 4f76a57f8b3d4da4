import CPostgres
package import StoreInterface

/// Transactions.
extension Connection {
  /// Begins a transaction that writes, with its first statements.
  func begin(_ opening: [Request] = []) {
    sendLater(beginSQL)
    for request in opening { sendLater(request) }
  }

  private var beginSQL: String { isEnclosed ? "SAVEPOINT part" : "BEGIN" }

  /// Commits the open transaction.
  ///
  /// - Parameter last: statements of the transaction that go with the commit; if one fails there is none.
  /// - Throws: ``StoreError/Code/inputOutput`` if the answer is lost, so that nobody knows the outcome.
  func commit(after last: [Request] = []) throws(StoreError) {
    let end = Request(isEnclosed ? "RELEASE part" : "COMMIT", isKept: false, isLogged: false)
    if isEnclosed { return _ = try pipeline(last + [end]) }
    let answer: String?
    do throws(StoreError) { answer = try pipeline(last + [end]).last?.command } catch {
      if isUsable { throw error }
      throw StoreError(
        .inputOutput,
        "the connection to the database broke during a commit: whether it was written is unknown until it is read again",
        path: place, detail: error.detail)
    }
    guard answer == "COMMIT" else {
      throw StoreError(.busy, "the server has undone the transaction: nothing was written; try again", path: place)
    }
  }

  /// Undoes the open transaction, if any; where that fails the connection is closed, which undoes it, too.
  package func rollBack() {
    // One that the server has not heard of ends here.
    if takeDue().contains(where: { $0.sql == beginSQL }) { return }
    guard isUsable, link.isInTransaction else { return }
    do throws(StoreError) { try control(isEnclosed ? "ROLLBACK TO part; RELEASE part" : "ROLLBACK") } catch { close() }
  }

  /// Runs a body in a transaction; undoes it if the body or the commit fails.
  package func transaction<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    do throws(StoreError) {
      begin()
      let result = try body()
      try commit()
      return result
    } catch {
      rollBack()
      throw error
    }
  }

  /// Runs a transaction that may take as long as it needs, such as one that builds tables anew.
  func patientTransaction(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    let wasPatient = link.isPatient
    link.isPatient = true
    defer { link.isPatient = wasPatient }
    try transaction { () throws(StoreError) in
      try control("SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0")
      try body()
    }
  }
}
