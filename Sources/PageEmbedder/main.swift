import Foundation

// Writes a Swift file with the contents of others: PageEmbedder OUTPUT.swift FILE...
// Exit codes are those of sysexits.h: 64 usage, 66 a file can't be read as UTF-8, 73 the output can't be written.

func stop(_ message: String, exitCode: Int32) -> Never {
  FileHandle.standardError.write(Data("PageEmbedder: error: \(message)\n".utf8))
  exit(exitCode)
}

/// A text as a literal of Swift on one line.
func literal(_ text: String) -> String {
  var result = "\""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\"", "\\": result += "\\\(scalar)"
    case "\n": result += "\\n"
    case _ where scalar.value < 0x20: result += "\\u{\(String(scalar.value, radix: 16))}"
    default: result.unicodeScalars.append(scalar)
    }
  }
  return result + "\""
}

guard CommandLine.arguments.count > 2 else { stop("usage: PageEmbedder OUTPUT.swift FILE...", exitCode: 64) }
var source = "extension PageFile {\n  /// The texts of all files, by name.\n  static let texts: [String: String] = [\n"
for path in CommandLine.arguments.dropFirst(2) {
  let url = URL(fileURLWithPath: path)
  do {
    source += "    \(literal(url.lastPathComponent)): \(literal(try String(contentsOf: url, encoding: .utf8))),\n"
  } catch {
    stop("\(path) can't be read: \(error.localizedDescription)", exitCode: 66)
  }
}
source += "  ]\n}\n"
do {
  try Data(source.utf8).write(to: URL(fileURLWithPath: CommandLine.arguments[1]))
} catch {
  stop("the output can't be written: \(error.localizedDescription)", exitCode: 73)
}
