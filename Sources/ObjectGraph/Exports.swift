// What users of the library write is one "import ObjectGraph".
@_exported public import ObjectModel
@_exported public import PostgresStore
@_exported public import SQLiteStore
@_exported public import StoreInterface
