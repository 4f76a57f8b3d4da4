package import JSONText
import SystemSupport
import TextSupport

/// Reads a handler's arguments, naming the key in each error.
package struct ArgumentReader {
  private let object: JSONObject
  private let path: String

  package init(_ value: JSONValue, path: String = "arguments") throws(JobFileError) {
    guard let object = value.object else {
      throw JobFileError("must be an object, not \(value.kindName)", key: path)
    }
    self.object = object
    self.path = path
  }

  /// Refuses every other key.
  package func allow(_ keys: [String]) throws(JobFileError) {
    for key in object.keys where !keys.contains(key) {
      let nearest = NearestName.find(key, in: keys).map { "; did you mean \"\($0)\"?" } ?? ""
      let place = path.hasPrefix("arguments") ? "an argument of this type" : "known here"
      throw error("is not \(place)\(nearest)", key)
    }
  }

  package func value(_ key: String) -> JSONValue? { object[key] }

  package func text(_ key: String) throws(JobFileError) -> String? {
    guard let value = object[key] else { return nil }
    guard let text = value.string else { throw error("must be a string, not \(value.kindName)", key) }
    return text
  }

  /// A text of one line, without characters that hide or reorder what people read.
  package func line(_ key: String, limit: Int) throws(JobFileError) -> String? {
    guard let line = try text(key) else { return nil }
    if line.utf8.count > limit { throw error("is longer than \(limit) bytes", key) }
    if line.unicodeScalars.contains(where: \.isControlOrFormat) {
      throw error("must not contain control or invisible characters", key)
    }
    return line
  }

  package func requiredText(_ key: String) throws(JobFileError) -> String {
    guard let text = try text(key) else { throw error("is missing", key) }
    if text.isEmpty { throw error("must not be empty", key) }
    return text
  }

  /// A path, which must not contain what no path can.
  package func requiredPath(_ key: String) throws(JobFileError) -> String {
    let path = try requiredText(key)
    if path.utf8.contains(0) { throw error("must not contain NUL", key) }
    return path
  }

  package func integer(_ key: String, in range: ClosedRange<Int>) throws(JobFileError) -> Int? {
    guard let value = object[key] else { return nil }
    guard let number = value.integer else { throw error("must be a whole number, not \(value.kindName)", key) }
    guard let integer = Int(exactly: number), range.contains(integer) else {
      throw error("must lie between \(range.lowerBound) and \(range.upperBound), but is \(number)", key)
    }
    return integer
  }

  package func flag(_ key: String) throws(JobFileError) -> Bool? {
    guard let value = object[key] else { return nil }
    guard let flag = value.bool else { throw error("must be true or false, not \(value.kindName)", key) }
    return flag
  }

  /// One of an enumeration's words.
  package func word<Word: RawRepresentable<String> & CaseIterable>(
    _ key: String, _ type: Word.Type, among words: [Word] = Array(Word.allCases)
  ) throws(JobFileError) -> Word? {
    guard let text = try text(key) else { return nil }
    guard let word = words.first(where: { $0.rawValue == text }) else {
      let known = words.map(\.rawValue).joined(separator: ", ")
      throw error("must be one of \(known), but is \"\(text)\"", key)
    }
    return word
  }

  package func error(_ message: String, _ key: String) -> JobFileError {
    JobFileError(message, key: path.isEmpty ? key : path + "." + key)
  }
}
