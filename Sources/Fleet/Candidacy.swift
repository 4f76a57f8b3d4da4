/// The way of a host to the place of a lead that is silent, or gone.
enum Candidacy: Sendable, Equatable {
  case none
  /// It lets others go first for a moment, and asks for the place of a lead that was silent for so long; leads to
  /// ``asking(term:)`` and, if its lease is over by then, to ``none``.
  case waiting(for: Silence)
  /// It has asked the ledger, in the term after this one; leads to ``none`` with the answer.
  case asking(term: Int64)
}
