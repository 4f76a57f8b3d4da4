import Foundation

/// The memory of the image helpers of a daemon, as /proc tells it.
struct HelperMemory: Sendable {
  private let daemon: Int32

  init(of daemon: Int32) { self.daemon = daemon }

  /// The largest resident set of each helper so far, in bytes.
  func peaks() -> [Int] { helpers.compactMap { Self.value("VmHWM:", of: $0) } }

  /// Looks twenty times a second until it is cancelled; returns the most that all had together, shared pages once for
  /// each.
  func watch() async -> Double {
    var most = 0
    while !Task.isCancelled {
      most = max(most, helpers.compactMap { Self.value("VmRSS:", of: $0) }.reduce(0, +))
      // Ends early when it is cancelled, which is what is wanted.
      try? await Task.sleep(for: .milliseconds(50))
    }
    return Double(most)
  }

  private var helpers: [Int32] {
    // Processes come and go while they are listed.
    let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return processes.compactMap { Int32($0) }.filter { process in
      guard let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8) else { return false }
      return status.hasPrefix("Name:\tbobbin-image\n") && status.contains("\nPPid:\t\(daemon)\n")
    }
  }

  private static func value(_ name: String, of process: Int32) -> Int? {
    guard let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8) else { return nil }
    let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
    return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }.map { $0 << 10 }
  }
}
