import Foundation
import HTTPService
import TestSupport
import Testing

@Suite("Forms in pieces")
struct MultipartReaderTests {
  struct Part: Equatable {
    let name: String
    var bytes: [UInt8] = []
    var isEnded = false

    init(_ name: String, _ bytes: [UInt8] = [], isEnded: Bool = false) {
      (self.name, self.bytes, self.isEnded) = (name, bytes, isEnded)
    }
  }

  private static let contentType = "multipart/form-data; boundary=xYz"

  /// The parts of a body that arrives in pieces of these sizes, the last as long as is left.
  private static func parts(_ body: [UInt8], _ sizes: some Sequence<Int>) throws -> [Part] {
    var reader = try #require(MultipartReader(contentType: contentType))
    var parts: [Part] = []
    func read(_ piece: ArraySlice<UInt8>) throws {
      try Array(piece).withUnsafeBytes { bytes in
        try reader.read(bytes) { event in
          switch event {
          case .begin(let name): parts.append(Part(name))
          case .bytes(let bytes): parts[parts.count - 1].bytes += bytes
          case .end: parts[parts.count - 1].isEnded = true
          }
        }
      }
    }
    var rest = body[...]
    for size in sizes where !rest.isEmpty {
      try read(rest.prefix(size))
      rest = rest.dropFirst(size)
    }
    try read(rest)
    try reader.finish()
    return parts
  }

  private static func body(_ parts: [(name: String, bytes: [UInt8])]) -> [UInt8] {
    parts.reduce(into: []) { body, part in
      body += "--xYz\r\nContent-Disposition: form-data; name=\"\(part.name)\"; filename=x\r\nX: y\r\n\r\n".utf8
      body += part.bytes
      body += "\r\n".utf8
    } + "--xYz--\r\n".utf8
  }

  @Test("Parts come out as they were put in, however the body is cut, and whatever looks like a boundary in them")
  func splits() throws {
    var random = SeededGenerator(seed: 53)
    let pieces = ["\r\n--xY", "\r\n", "--xYz", "\r", "\n--xYz--", "a", "\r\n--xyz", "\0", "--"]
    for round in 0..<300 {
      let parts = (0..<Int.random(in: 1...4, using: &random)).map { number in
        let bytes = (0..<Int.random(in: 0...12, using: &random)).flatMap { _ in
          Array((pieces.randomElement(using: &random) ?? "").utf8)
        }
        // Some have a boundary by chance, which ends the part.
        let isBroken = Data(bytes).range(of: Data("\r\n--xYz".utf8)) != nil
        return (name: "p\(number)", bytes: isBroken ? [] : bytes)
      }
      let sizes = (0..<400).map { _ in Int.random(in: 1...(round % 3 == 0 ? 1 : 40), using: &random) }
      let found = try Self.parts(Self.body(parts), sizes)
      #expect(found == parts.map { Part($0.name, $0.bytes, isEnded: true) })
    }
  }

  @Test("Bodies that were damaged are refused or read, and never end the process")
  func damaged() throws {
    var random = SeededGenerator(seed: 54)
    let good = Self.body([("job", Array("{\"type\": \"noop\"}".utf8)), ("file", Array(repeating: 7, count: 300))])
    var refused = 0
    for _ in 0..<3_000 {
      var body = good
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let place = Int.random(in: 0..<body.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: body[place] = UInt8.random(in: .min ... .max, using: &random)
        case 1: body.remove(at: place)
        case 2: body.removeSubrange(place...)
        default: body.insert(contentsOf: body[place..<min(place + 30, body.count)], at: place)
        }
        if body.isEmpty { break }
      }
      do { _ = try Self.parts(body, (0..<50).map { _ in Int.random(in: 1...60, using: &random) }) } catch {
        refused += 1
      }
    }
    #expect(refused > 1_000)
  }

  @Test("A preamble and blanks behind boundaries are passed over, an epilogue too, and names may be quoted or not")
  func variants() throws {
    let text = """
      Before it.\r\n--xYz \t\r\ncontent-disposition:form-data;filename="a;b\\"c";name="q\\"\\\\"\r\n\r\n1\r\n--xYz\r
      Content-Disposition: form-data; name=plain\r\n\r\n\r\n--xYz--and more\r\n--xYz\r\n
      """
    let parts = try Self.parts(Array(text.utf8), [])
    #expect(parts == [Part("q\"\\", [UInt8(ascii: "1")], isEnded: true), Part("plain", isEnded: true)])
  }

  @Test("What is no form, or has no end to its parts or headers, is refused")
  func refused() throws {
    for type in [
      "application/json", "multipart/form-data", "multipart/mixed; boundary=x", "multipart/form-data; boundary=",
      "multipart/form-data; boundary=\"a \"", "multipart/form-data; boundary=" + String(repeating: "x", count: 71),
    ] {
      #expect(MultipartReader(contentType: type) == nil, "\(type)")
    }
    #expect(MultipartReader(contentType: "Multipart/Form-Data; charset=utf-8; Boundary=\"a b\"") != nil)
    let header = "--xYz\r\nContent-Disposition: form-data; name=a\r\n"
    for text in [
      "", "--xYz--\r\n", "--xYz\r\n\r\nx\r\n--xYz--", "--xYzz\r\n", header + "\r\nx", header + "\r\nx\r\n--xYz\r\n",
      header + String(repeating: "X: y\r\n", count: 1_000) + "\r\nx\r\n--xYz--",
      String(repeating: header + "\r\nx\r\n", count: MultipartReader.mostParts + 1) + "--xYz--",
    ] {
      #expect(throws: MultipartError.self, "\(text.prefix(80))") { try Self.parts(Array(text.utf8), []) }
    }
  }
}
