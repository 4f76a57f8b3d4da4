/// Who makes a transaction of a store, as the history keeps it.
package struct TransactionOrigin: Sendable, Hashable {
  /// The name of the context that made the changes.
  package var contextName: String?
  /// What that context has as its `transactionAuthor`.
  package var author: String?

  package init(contextName: String? = nil, author: String? = nil) {
    self.contextName = contextName
    self.author = author
  }
}
