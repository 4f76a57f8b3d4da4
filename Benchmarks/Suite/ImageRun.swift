import Foundation

/// What one run of a daemon over pictures has shown.
struct ImageRun {
  let seconds: Double
  /// How long main was occupied at a time, at most, in 99 of 100 cases; in seconds.
  let p99: Double
  /// The largest resident memory of the daemon, and of each helper that is there at the end, in bytes.
  let daemonPeak: Int
  let helperPeaks: [Int]
  /// The most that all helpers had at the same time, in bytes, if somebody watched.
  let together: Double
}

/// The figures about thumbnails, pair by pair.
struct ThumbnailFigures {
  private var ours: [Double] = []
  private var p99: [Double] = []
  private var perWorker: [Double] = []
  var vips: [Double] = []
  var packed: [Double] = []
  var magick: [Double] = []

  mutating func add(_ run: ImageRun, pictures: Int) {
    ours.append(Double(pictures) / run.seconds)
    p99.append(run.p99 * 1000)
    let helpers = max(1, run.helperPeaks.count)
    perWorker.append(Double(run.daemonPeak + run.helperPeaks.reduce(0, +)) / Double(helpers) / 1_048_576)
  }

  var all: [Figure] {
    [
      Figure(
        name: "image.thumbnails", unit: "/s", ours: ours, peer: vips, peerName: "xargs -n1 vipsthumbnail",
        target: .atLeast(1.2)),
      Figure(
        name: "image.thumbnails, peer without starts", unit: "/s", ours: ours, peer: packed,
        peerName: "xargs vipsthumbnail, all files at once"),
      Figure(
        name: "image.thumbnails by ImageMagick", unit: "/s", ours: ours, peer: magick, peerName: "xargs -n1 convert",
        target: .atLeast(4)),
      Figure(
        name: "image.main occupation p99", unit: "ms", ours: p99, peer: [], peerName: "", measure: .ours,
        target: .atMost(1)),
      Figure(
        name: "image.memory of daemon and helpers, per worker", unit: "MiB", ours: perWorker, peer: [], peerName: "",
        measure: .ours),
    ]
  }
}
