/// The name among `names` that takes the fewest edits to become `name`, upper and lower case being equal.
///
/// An edit inserts, removes or replaces a character (Levenshtein's distance). Of equally near names the first wins.
package func nearestName<Names: Sequence<String>>(to name: String, in names: Names) -> String? {
  // A name of any length may be typed, but what follows the length of the longest known key can't bring it nearer.
  let wanted = Array(name.lowercased().prefix(64))
  return names.map { (name: $0, distance: editDistance(wanted, Array($0.lowercased()))) }
    .min { $0.distance < $1.distance }?.name
}

private func editDistance(_ left: [Character], _ right: [Character]) -> Int {
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
