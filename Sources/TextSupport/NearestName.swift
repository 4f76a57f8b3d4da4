/// Finds the name that a mistyped one was meant to be.
package enum NearestName {
  /// The name among `names` that takes the fewest edits to become `name`, upper and lower case being equal.
  ///
  /// An edit inserts, removes or replaces a character (Levenshtein's distance). Of equally near names the first wins.
  ///
  /// - Parameter limit: The most edits that still make a suggestion; by default 2, or a third of a longer name.
  /// - Returns: Nil if no name is that near.
  package static func find(_ name: String, in names: some Sequence<String>, within limit: Int? = nil) -> String? {
    // A name of any length may be typed, but characters beyond the longest known key can't bring it nearer.
    let wanted = Array(name.lowercased().prefix(64))
    let nearest = names.map { (name: $0, distance: distance(wanted, Array($0.lowercased().prefix(64)))) }
      .min { $0.distance < $1.distance }
    guard let nearest, nearest.distance <= limit ?? max(2, wanted.count / 3) else { return nil }
    return nearest.name
  }

  private static func distance(_ left: [Character], _ right: [Character]) -> Int {
    var row = Array(0...right.count)
    for (index, character) in left.enumerated() {
      var diagonal = row[0]
      row[0] = index + 1
      for column in right.indices {
        let replacing = diagonal + (character == right[column] ? 0 : 1)
        diagonal = row[column + 1]
        row[column + 1] = min(replacing, row[column] + 1, diagonal + 1)
      }
    }
    return row[right.count]
  }
}
