import Foundation

/// Photographs of a Debian package, which are what the suite encodes.
struct Photographs {
  static let folder = "/usr/share/backgrounds/mate/nature"
  private let workplace: Workplace
  private let files: [String]

  init(_ workplace: Workplace) async throws {
    self.workplace = workplace
    let names = (try? FileManager.default.contentsOfDirectory(atPath: Self.folder)) ?? []
    files = names.filter { $0.hasSuffix(".jpg") }.sorted().map { "\(Self.folder)/\($0)" }
    if files.isEmpty {
      throw BenchError("photographs are missing; \"scripts/install-dependencies bench\" installs mate-backgrounds")
    }
  }

  /// So many files, each of its own name, of the photographs in turn.
  func copies(_ count: Int, in name: String) throws -> [String] {
    let folder = try workplace.emptyFolder(name)
    return try (0..<count).map { index in
      let copy = "\(folder)/\(index).jpg"
      try FileManager.default.copyItem(atPath: files[index % files.count], toPath: copy)
      return copy
    }
  }

  /// So many files of 2592 x 1944 pixels.
  func ofFiveMegapixels(_ count: Int) async throws -> [String] {
    let folder = try workplace.emptyFolder("five-megapixels")
    var copies: [String] = []
    for index in 0..<count {
      let copy = "\(folder)/\(index).jpg"
      if index < files.count {
        try await Program(try workplace.tool("vipsthumbnail")).run(
          files[index], "--size", "2592x1944!", "-o", copy + "[Q=90,strip]")
      } else {
        try FileManager.default.copyItem(atPath: copies[index % files.count], toPath: copy)
      }
      copies.append(copy)
    }
    return copies
  }
}
