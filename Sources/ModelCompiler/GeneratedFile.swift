import Foundation

/// A file that keeps its modification date if its content is the same, so that nothing is compiled again for it.
struct GeneratedFile {
  private let url: URL

  init(_ url: URL) { self.url = url }

  func write(_ text: String) throws {
    let data = Data(text.utf8)
    if let present = try? Data(contentsOf: url), present == data { return }
    try data.write(to: url, options: .atomic)
  }
}
