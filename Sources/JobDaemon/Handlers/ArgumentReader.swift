import Configuration
import JSONText
import Jobs
import TextSupport

/// Reads a handler's arguments, naming the key in each error.
struct ArgumentReader {
  private let object: JSONObject
  private let path: String

  init(_ value: JSONValue, path: String = "arguments") throws(JobFileError) {
    guard let object = value.object else {
      throw JobFileError("must be an object, not \(value.kindName)", key: path)
    }
    self.object = object
    self.path = path
  }

  /// Refuses every other key.
  func allow(_ keys: [String]) throws(JobFileError) {
    for key in object.keys where !keys.contains(key) {
      let nearest = NearestName.find(key, in: keys).map { "; did you mean \"\($0)\"?" } ?? ""
      throw error("is no argument of this type\(nearest)", key)
    }
  }

  func value(_ key: String) -> JSONValue? { object[key] }

  func text(_ key: String) throws(JobFileError) -> String? {
    guard let value = object[key] else { return nil }
    guard let text = value.string else { throw error("must be a string, not \(value.kindName)", key) }
    return text
  }

  func requiredText(_ key: String) throws(JobFileError) -> String {
    guard let text = try text(key) else { throw error("is missing", key) }
    if text.isEmpty { throw error("must not be empty", key) }
    return text
  }

  /// A path, which must not contain what no path can.
  func requiredPath(_ key: String) throws(JobFileError) -> String {
    let path = try requiredText(key)
    if path.utf8.contains(0) { throw error("must not contain NUL", key) }
    return path
  }

  func integer(_ key: String, in range: ClosedRange<Int>) throws(JobFileError) -> Int? {
    guard let value = object[key] else { return nil }
    guard let number = value.integer else { throw error("must be a whole number, not \(value.kindName)", key) }
    guard let integer = Int(exactly: number), range.contains(integer) else {
      throw error("must lie between \(range.lowerBound) and \(range.upperBound), but is \(number)", key)
    }
    return integer
  }

  /// A number of bytes: a whole number, or a text as in the configuration, such as `60K`.
  func size(_ key: String, in range: ClosedRange<Int>) throws(JobFileError) -> Int? {
    guard let text = object[key]?.string else { return try integer(key, in: range) }
    guard let bytes = SizeText.bytes(text), range.contains(bytes) else {
      throw error(
        "must be a number of bytes from \(range.lowerBound) to \(range.upperBound), or one with K, M, G or T such as "
          + "\"60K\", but is \"\(text)\"", key)
    }
    return bytes
  }

  func flag(_ key: String) throws(JobFileError) -> Bool? {
    guard let value = object[key] else { return nil }
    guard let flag = value.bool else { throw error("must be true or false, not \(value.kindName)", key) }
    return flag
  }

  /// One of an enumeration's words.
  func word<Word: RawRepresentable<String> & CaseIterable>(
    _ key: String, _ type: Word.Type, among words: [Word] = Array(Word.allCases)
  ) throws(JobFileError) -> Word? {
    guard let text = try text(key) else { return nil }
    guard let word = words.first(where: { $0.rawValue == text }) else {
      let known = words.map(\.rawValue).joined(separator: ", ")
      throw error("must be one of \(known), but is \"\(text)\"", key)
    }
    return word
  }

  func error(_ message: String, _ key: String) -> JobFileError {
    JobFileError(message, key: path.isEmpty ? key : path + "." + key)
  }
}
