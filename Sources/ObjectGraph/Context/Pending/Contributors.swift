/// The makers of some changes, as far as known: nobody, one child of a context, or several.
enum Contributors {
  case nobody
  case one(TransactionOrigin)
  case several

  mutating func add(_ others: Contributors) {
    switch (self, others) {
    case (_, .nobody): break
    case (.nobody, _): self = others
    case (.one(let mine), .one(let theirs)) where mine == theirs: break
    default: self = .several
    }
  }
}
