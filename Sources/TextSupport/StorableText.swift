extension String {
  /// The text without the one character that PostgreSQL does not store, U+0000: a text for people must not keep what it is
  /// about from being written.
  package var storable: String { replacing("\0", with: "\u{FFFD}") }
}
