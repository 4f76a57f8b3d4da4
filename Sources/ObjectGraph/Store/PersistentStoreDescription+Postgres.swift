public import PostgresStore

extension PersistentStoreDescription {
  /// A schema of a PostgreSQL database, which is made if it is missing; others may have it open at the same time.
  ///
  /// Opening throws a `StoreError` if the server can't be reached, lets nobody in, or has something else in the schema,
  /// or a store of a newer release, or of a model from which the migration can't be inferred.
  ///
  /// - Parameters:
  ///   - url: the address as libpq reads it, such as `postgresql://ada@db.example.org/jobs`; several hosts are tried one
  ///     after the other. It must not hold a password, and another machine must prove who it is (`sslmode=verify-full`).
  ///     With `pooled=yes` among its parameters it may lead to a pooler such as pgbouncer.
  ///   - options: the schema and the limits of waits.
  /// - Returns: the description, for a coordinator.
  public static func postgresql(url: String, options: PostgresStoreOptions = PostgresStoreOptions()) -> Self {
    Self { model, ordinal in
      try PostgresStore(url, model: model, coordinatorOrdinal: ordinal, options: options)
    }
  }
}
