/// What is wrong with an input that nothing is made of.
package enum ImageFailOn: String, Codable, Sendable, CaseIterable {
  /// Only what leaves nothing to decode: what is missing becomes grey or black.
  case none
  /// What may have cost pixels: a truncated or damaged picture.
  case error
  /// Also what costs none, such as stray bytes between the parts of a file.
  case warning
}
