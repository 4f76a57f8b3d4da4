import Foundation
import JSONText

/// All figures of a run.
struct Report {
  var figures: [Figure]
  let options: Options

  var allHold: Bool { figures.allSatisfy { $0.holds != false } }

  var table: String {
    let header = ["figure", "unit", "ours", "peer", "ratio", "target", "holds", "peak RSS"]
    let rows = [header] + figures.map(row)
    let widths = header.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    let lines = rows.map { row in
      zip(row, widths).map { $0.padding(toLength: $1, withPad: " ", startingAt: 0) }.joined(separator: "  ")
    }
    return lines.joined(separator: "\n")
  }

  private func row(_ figure: Figure) -> [String] {
    [
      figure.name, figure.unit, figure.ours.median.short, figure.peer.isEmpty ? "" : figure.peer.median.short,
      figure.peer.isEmpty ? "" : figure.ratios.median.short, figure.target?.text(figure.measure, figure.unit) ?? "",
      figure.holds.map { $0 ? "yes" : "NO" } ?? "", figure.peakMemory.map { "\($0 >> 20) MiB" } ?? "",
    ]
  }

  func write(to path: String) throws {
    let value = JSONValue.object([
      "version": 1, "date": .string(Date().ISO8601Format()), "pairs": .integer(Int64(options.pairs)),
      "isQuick": .bool(options.isQuick),
      "processors": .integer(Int64(ProcessInfo.processInfo.activeProcessorCount)),
      "figures": .array(figures.map(\.json)),
    ])
    let url = URL(filePath: path)
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data((value.serialized() + "\n").utf8).write(to: url, options: .atomic)
  }
}
