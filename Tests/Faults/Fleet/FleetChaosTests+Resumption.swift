import DaemonTesting
import Foundation
import Glibc
import PostgresTesting
import SystemSupport
import TestSupport
import Testing

extension FleetChaosTests {
  /// The time until a job of a host that died runs at another one, in seconds.
  private static let resumptionLimit = 4.5

  @Test("A job whose host is killed or stands still runs at another host soon, and has its effect once")
  func resumption() async throws {
    let database = try PostgresCluster.makeDatabase()
    let roots = try ["a", "b"].map { try DaemonRoot(host: $0, at: database.url, workers: 1) }
    for root in roots { try declare(on: root, marking: roots.map(\.paths.payload)) }
    var daemons: [DaemonProcess] = []
    for root in roots { daemons.append(try await DaemonProcess.ready(root)) }
    var figures = FaultFigures("work of a host that dies")
    var times: [Double] = []
    for number in 0..<FaultPlan.count("DEATHS", short: 2, whole: 20) {
      let job = "job-\(number)"
      try roots[number % 2].drop(#"{"type": "twice", "id": "\#(job)"}"#, as: FileName("\(job).json"))
      try await daemons[0].wait { FileManager.default.fileExists(atPath: $0.root.paths.payload + "/\(job)-1") }
      let place = "SELECT h.root LIKE 'b:%' FROM bobbin._run AS r JOIN bobbin._host AS h ON h.number = r.host"
      let host = try database.run(place) == "t" ? 1 : 0
      let fault = Date()
      if number.isMultiple(of: 4) { try daemons[host].child.kill(SIGSTOP) } else { try await daemons[host].kill() }
      let mark = roots[1 - host].paths.payload + "/\(job)-2"
      try await daemons[1 - host].wait { _ in FileManager.default.fileExists(atPath: mark) }
      let begun = try FileManager.default.attributesOfItem(atPath: mark)[.modificationDate] as? Date
      times.append(try #require(begun).timeIntervalSince(fault))
      // The first attempt ends as well, and a host that stood still has its row, and must not write it.
      for root in roots { try root.payload("\(job)-go", "") }
      if number.isMultiple(of: 4) {
        try daemons[host].child.kill(SIGCONT)
        #expect(try await daemons[host].waitForEnd() == .exited(code: 75))
      }
      daemons[host] = try await DaemonProcess.ready(roots[host])
      for daemon in daemons { try await daemon.waitUntilSpoolIsEmpty() }
      (figures.faults, figures.struck, figures.jobs) = (number + 1, number + 1, number + 1)
    }
    let rows = #"SELECT count(*) || ' of ' || count(DISTINCT job) FROM bobbin."Reading""#
    #expect(try database.run(rows) == "\(times.count) of \(times.count)")
    for daemon in daemons { #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)") }
    if times.isEmpty { return }
    let texts = times.sorted().map { String(format: "%.2f", $0) }
    figures.tell("they ran elsewhere after \(texts[0]) to \(texts[texts.count - 1]) s")
    // A machine that does other things as well may be late.
    if FaultPlan.isWhole { #expect(times.allSatisfy { $0 < Self.resumptionLimit }, "\(texts)") }
  }

  /// Declares a job type whose first attempt waits to be cut short, and whose next one inserts a row.
  ///
  /// - Parameter folders: where each attempt leaves a file, which wakes up who waits for it.
  private func declare(on root: DaemonRoot, marking folders: [String]) throws {
    let marks = folders.map { "\"\($0)/$BOBBIN_JOB_ID-$BOBBIN_ATTEMPT\"" }.joined(separator: " ")
    let row = #"{"insert": {"entity": "Reading", "values": {"job": "'$BOBBIN_JOB_ID'", "number": 1}}}"#
    try root.declare(
      "twice",
      """
      touch \(marks)
      for turn in $(seq 1200); do
        [ "$BOBBIN_ATTEMPT" -gt 1 ] || [ -e "\(folders[0])/$BOBBIN_JOB_ID-go" ] && break
        sleep 0.05
      done
      echo '\(row)'
      """)
  }
}
