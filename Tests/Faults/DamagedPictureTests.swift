import DaemonTesting
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

extension FaultTests {
  @Suite("Damaged pictures")
  struct DamagedPictures {
    /// Small pictures of every format that is read, and how they are made of one.
    private static let kinds: [(name: String, program: String, arguments: [String])] = [
      ("plain.jpg", "vips", ["copy", "in.png"]), ("passes.jpg", "vips", ["jpegsave", "--interlace", "in.png"]),
      ("cmyk.jpg", "vips", ["colourspace", "in.png", "OUT", "cmyk"]), ("plain.png", "vips", ["copy", "in.png"]),
      ("passes.png", "vips", ["pngsave", "--interlace", "in.png"]),
      ("palette.png", "vips", ["pngsave", "--palette", "in.png"]), ("plain.webp", "vips", ["copy", "in.png"]),
      ("lossless.webp", "vips", ["webpsave", "--lossless", "in.png"]), ("moving.gif", "convert", moving),
      ("moving.webp", "convert", moving), ("plain.tif", "vips", ["copy", "in.png"]),
      ("tiles.tif", "vips", ["tiffsave", "--tile", "--compression", "jpeg", "in.png"]),
      ("plain.avif", "vips", ["copy", "in.png"]),
      ("plain.heic", "vips", ["copy", "in.png"]),
    ]
    private static let moving = ["-delay", "10", "in.png", "(", "in.png", "-negate", ")", "in.png"]

    /// What is done to a range of a file's bytes.
    private enum Damage: CaseIterable {
      case zero, cut, flip

      func apply(to bytes: [UInt8], _ range: Range<Int>) -> [UInt8] {
        var bytes = bytes
        switch self {
        case .zero: for index in range { bytes[index] = 0 }
        case .cut: bytes.removeSubrange(range)
        case .flip: for index in range { bytes[index] = ~bytes[index] }
        }
        return bytes
      }
    }

    @Test("They cost their own attempts, whatever byte is zeroed, cut out or flipped", .timeLimit(.minutes(20)))
    func damaged() async throws {
      let root = try DaemonRoot(
        "[Writer]\nFlushIntervalSec=20ms\n[Image]\nHelpers=2\nTimeoutSec=20s\nMaxPixels=2000000\n")
      let payload = root.paths.payload
      try root.write(try await TestPicture.jpeg(), to: payload + "/good.jpg")
      let small = try await Tool.run(
        "/usr/bin/vips", ["thumbnail", payload + "/good.jpg", payload + "/in.png", "24"])
      try #require(small.code == 0, "\(small.errors)")
      let perKind = FaultPlan.count("PICTURES", short: 18, whole: 180)
      var jobs: [String] = []
      for kind in Self.kinds {
        let bytes = try await Self.make(kind.name, kind.program, kind.arguments, in: payload)
        let ranges = perKind / Damage.allCases.count
        for number in 0..<ranges {
          // One after the other over the whole file, and each range at least a byte.
          let start = bytes.count * number / ranges
          let end = max(start + 1, bytes.count * (number + 1) / ranges)
          for damage in Damage.allCases {
            let name = "\(number)-\(damage)-\(kind.name)"
            try Data(damage.apply(to: bytes, start..<min(end, bytes.count))).write(
              to: URL(filePath: "\(payload)/\(name)"))
            jobs.append(Self.job("\(name)", input: name))
          }
        }
      }
      var figures = FaultFigures("a damaged picture")
      let daemon = try await DaemonProcess.ready(root)
      try root.drop(#"{"jobs": [\#(jobs.joined(separator: ",\n"))]}"#, as: "damaged.json")
      try await daemon.waitUntilSpoolIsEmpty(seconds: 1000)
      let states = try await root.sql("SELECT state, count(*) FROM Job GROUP BY state ORDER BY state")
      let counts = Dictionary(
        uniqueKeysWithValues: states.split(separator: "\n").map { line in
          let fields = line.split(separator: "|")
          return (String(fields[0]), Int(fields[1]) ?? 0)
        })
      // Many damages are none to a decoder, and some are none to anybody.
      #expect(Set(counts.keys).isSubset(of: ["completed", "discarded", "quarantined"]), "\(states)")
      #expect(counts.values.reduce(0, +) == jobs.count)
      #expect(counts["discarded", default: 0] > jobs.count / 10, "\(states)")
      let lost = try await root.sql(
        "SELECT count(*), min(failure) FROM Job WHERE failure LIKE '%helper%' OR failure LIKE '%daemon%'")
      #expect(try daemon.end == nil)
      // What is not damaged is encoded as before.
      let good = try await daemon.submit(Self.job("good", input: "good.jpg"))
      #expect(good.first?["state"]?.string == "completed")
      let hidden = try Directory(path: payload).entries().filter(\.isHidden)
      #expect(hidden == [])
      figures.faults = jobs.count
      figures.struck = counts["discarded", default: 0]
      figures.jobs = jobs.count
      figures.tell()
      print("attempts that cost a helper, and why: \(lost)")
    }

    private static func make(
      _ name: String, _ program: String, _ arguments: [String], in folder: String
    ) async throws -> [UInt8] {
      let output = "\(folder)/\(name)"
      var arguments = arguments.map { $0 == "in.png" ? "\(folder)/in.png" : $0 }
      if let place = arguments.firstIndex(of: "OUT") { arguments[place] = output } else { arguments.append(output) }
      let tool = try await Tool.run("/usr/bin/\(program)", arguments)
      try #require(tool.code == 0, "\(name): \(tool.errors)")
      return [UInt8](try Data(contentsOf: URL(filePath: output)))
    }

    private static func job(_ id: String, input: String) -> String {
      #"""
      {"type": "image.encode", "id": "\#(id)", "maxAttempts": 1, "arguments": {"input": "\#(input)",
        "placeholder": true, "outputs": [
          {"path": "\#(id).out.png", "width": 16, "height": 16, "fit": "cover", "crop": "attention"},
          {"path": "\#(id).out.webp", "metadata": "all", "animated": true}]}}
      """#
    }
  }
}
