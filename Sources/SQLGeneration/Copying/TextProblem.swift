import Glibc

/// The reason why PostgreSQL would not store a text.
package enum TextProblem: Sendable {
  /// It holds U+0000.
  case zero
  /// It is not UTF-8.
  case encoding

  /// Nil if nothing is wrong with it.
  package init?(in text: UnsafeRawBufferPointer) {
    guard let start = text.baseAddress, text.count > 0 else { return nil }
    if memchr(start, 0, text.count) != nil {
      self = .zero
    } else if text.contains(where: { $0 >= 0x80 }), String(validating: text, as: UTF8.self) == nil {
      self = .encoding
    } else {
      return nil
    }
  }

  /// A sentence about the text in a row.
  package func description(of column: CopiedTable.Column, in table: CopiedTable, key: Int64) -> String {
    switch self {
    case .zero:
      "\(table.name).\(column.name) of the row with the key \(key) holds the character U+0000, which PostgreSQL does not "
        + "store; remove it from the text"
    case .encoding:
      "\(table.name).\(column.name) of the row with the key \(key) is not UTF-8, which another program must have written; "
        + "mend the text"
    }
  }
}
