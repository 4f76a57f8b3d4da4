import Foundation
import JSONText
import SystemSupport

/// Pictures through the running daemon, against programs that do the same to the same files with as many processes.
struct ImageGroup: BenchGroup {
  static let name = "image"

  private let options: Options
  private let workplace: Workplace
  private let processors = ProcessInfo.processInfo.activeProcessorCount
  private var thumbnailCount: Int { options.isQuick ? 40 : 200 }
  private var copyCount: Int { options.isQuick ? 4 : 16 }

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    let photographs = try await Photographs(workplace)
    let thumbnails = try photographs.copies(thumbnailCount, in: "thumbnails")
    let large = try await photographs.ofFiveMegapixels(copyCount)
    var figures = ThumbnailFigures()
    var copies: [(format: String, ours: [Double], peer: [Double])] = [("webp", [], []), ("png", [], [])]
    for _ in 0..<options.pairs {
      let run = try await encode(
        thumbnails, output: ["format": "jpeg", "width": 256, "height": 256, "quality": 80])
      figures.add(run, pictures: thumbnailCount)
      let each = try await peer(
        thumbnails, perProcess: 1, "vipsthumbnail --size 256x256 -o $OUT/%s.jpg[Q=80,strip] \"$@\"")
      figures.vips.append(Double(thumbnailCount) / each)
      let packed = try await peer(
        thumbnails, perProcess: (thumbnailCount + processors - 1) / processors,
        "vipsthumbnail --size 256x256 -o $OUT/%s.jpg[Q=80,strip] \"$@\"")
      figures.packed.append(Double(thumbnailCount) / packed)
      let magick = try await peer(
        thumbnails, perProcess: 1,
        "convert \"$1\" -auto-orient -resize 256x256 -strip -quality 80 $OUT/$(basename \"$1\")")
      figures.magick.append(Double(thumbnailCount) / magick)
      for index in copies.indices {
        let format = copies[index].format
        var output: JSONObject = ["format": .string(format)]
        if format == "webp" { output["quality"] = 75 }
        let run = try await encode(large, output: output)
        copies[index].ours.append(Double(copyCount) / run.seconds)
        let seconds = try await peer(large, perProcess: 1, "vips copy \"$1\" $OUT/$(basename \"$1\" .jpg).\(format)")
        copies[index].peer.append(Double(copyCount) / seconds)
      }
    }
    return figures.all
      + copies.map { copy in
        Figure(
          name: "image.5 megapixels to \(copy.format)", unit: "/s", ours: copy.ours, peer: copy.peer,
          peerName: "vips copy", target: .atLeast(0.97))
      } + (try await largePictures())
  }

  /// One job for each file; a fresh daemon each time.
  private func encode(_ files: [String], output: JSONObject) async throws -> ImageRun {
    let daemon = try DaemonRun(workplace)
    let ending = output["format"]?.string ?? ""
    let jobs = files.enumerated().map { index, file -> JSONValue in
      var output = output
      output["path"] = .string("\(daemon.root)/out/\(index).\(ending)")
      return .object([
        "type": "image.encode",
        "arguments": .object(["input": .string(file), "outputs": .array([.object(output)])]),
      ])
    }
    return try await run(jobs, daemon)
  }

  private func run(_ jobs: [JSONValue], _ daemon: DaemonRun, watching: Bool = false) async throws -> ImageRun {
    try FileManager.default.createDirectory(atPath: daemon.root + "/out", withIntermediateDirectories: true)
    let memory = HelperMemory(of: daemon.processID)
    let watch = watching ? Task { await memory.watch() } : nil
    var seconds = 0.0
    // Large pictures in several rounds, as no program of the suite may take longer than ten minutes.
    let round = watching ? 40 : jobs.count
    for start in stride(from: 0, to: jobs.count, by: round) {
      let some = Array(jobs[start..<min(start + round, jobs.count)])
      try daemon.prepare(some)
      workplace.syncDisks()
      seconds += try await Program(try await workplace.peer("drop_files")).measure(daemon.spool, "\(some.count)")
    }
    watch?.cancel()
    let status = try daemon.status()
    guard status["jobs"]?["completed"]?.integer == Int64(jobs.count), let p99 = status["main"]?["p99Seconds"]?.number
    else { throw BenchError("the pictures were not all encoded: \(status.serialized())") }
    let run = ImageRun(
      seconds: seconds, p99: p99, daemonPeak: try daemon.peakMemory(), helperPeaks: memory.peaks(),
      together: await watch?.value ?? 0)
    try await daemon.stop()
    return run
  }

  /// The seconds that a shell command takes for all files, in as many processes as there are processors.
  private func peer(_ files: [String], perProcess: Int, _ command: String) async throws -> Double {
    let folder = try workplace.emptyFolder("p")
    let list = folder + "/list"
    try Data(files.joined(separator: "\n").utf8).write(to: URL(filePath: list))
    let out = try workplace.emptyFolder("p/out")
    let script =
      command.hasPrefix("vipsthumbnail")
      // Without a shell between, which would cost the peer a millisecond for each picture.
      ? "xargs -a \(list) -P\(processors) -n\(perProcess) "
        + command.replacing("$OUT", with: out).replacing(" \"$@\"", with: "")
      : "xargs -a \(list) -P\(processors) -n\(perProcess) sh -c '\(command)' sh"
    workplace.syncDisks()
    let start = ContinuousClock.now
    try await Program("/bin/sh").run("-c", script, environment: ["PATH": "/usr/bin:/bin", "OUT": out])
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    let made = try FileManager.default.contentsOfDirectory(atPath: out).count
    guard made == files.count else { throw BenchError("\(command) made \(made) of \(files.count) pictures") }
    return seconds
  }

  /// 100 megapixels each, that all have to be decoded before a pixel of them is there, on a budget for little more than
  /// one.
  private func largePictures() async throws -> [Figure] {
    let count = options.isQuick ? 10 : 200
    let folder = try workplace.emptyFolder("large")
    let vips = Program(try workplace.tool("vips"))
    try await vips.run("black", folder + "/a.v", "10000", "10000", "--bands", "3")
    try await vips.run("jpegsave", folder + "/a.v", folder + "/a.jpg", "--interlace")
    try FileManager.default.removeItem(atPath: folder + "/a.v")
    let daemon = try DaemonRun(
      workplace, configuration: "[Image]\nMemoryBudget=1G\nHelpers=\(max(2, processors))\n")
    let jobs = (0..<count).map { index -> JSONValue in
      let outputs = [("jpg", 2500), ("webp", 512)].map { ending, width -> JSONValue in
        .object(["path": .string("\(daemon.root)/out/\(index).\(ending)"), "width": .integer(Int64(width))])
      }
      return .object([
        "type": "image.encode", "maxAttempts": 1,
        "arguments": .object(["input": .string(folder + "/a.jpg"), "outputs": .array(outputs)]),
      ])
    }
    let run = try await run(jobs, daemon, watching: true)
    return [
      Figure(
        name: "image.memory of all helpers, \(count) pictures of 100 megapixels on 1 GiB", unit: "MiB",
        ours: [run.together / 1_048_576], peer: [], peerName: "", measure: .ours, target: .atMost(1024))
    ]
  }
}
