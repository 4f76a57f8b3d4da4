import ControlClient
import DaemonTesting
import Foundation
import JSONText
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("Metrics")
  struct Metrics {
    private static let promtool = "/usr/bin/promtool"
    private static let etc = RepositoryPaths.root.appending(path: "etc")

    private func scrape(_ daemon: DaemonProcess, accept: String? = nil) async throws -> (type: String, text: String) {
      let url = "http://localhost/metrics"
      let header = accept.map { ["--header", "Accept: \($0)"] } ?? []
      let tool = try await Tool.run(
        "/usr/bin/curl",
        ["-sS", "--fail", "--unix-socket", daemon.root.paths.socket, "-w", "\n%{content_type}"] + header + [url])
      #expect(tool.code == 0, "\(tool.errors)")
      let lines = tool.output.split(separator: "\n", omittingEmptySubsequences: false)
      return (String(lines.last ?? ""), lines.dropLast().joined(separator: "\n"))
    }

    /// The samples by name and labels.
    private func samples(_ text: String) -> [String: Double] {
      var samples: [String: Double] = [:]
      for line in text.split(separator: "\n") where !line.hasPrefix("#") {
        guard let space = line.lastIndex(of: " ") else { continue }
        samples[String(line[..<space])] = Double(line[line.index(after: space)...])
      }
      return samples
    }

    @Test("Figures say what has become of jobs, in both forms of the text, and Prometheus' own tool finds no fault")
    func figures() async throws {
      let root = try DaemonRoot(DaemonRoot.quickFlushes + "[Workers]\nCount=3\n")
      let daemon = try await DaemonProcess.ready(root)
      _ = try await daemon.request("POST", "/v1/pause", body: #"{"queue": "slow"}"#)
      _ = try await daemon.submit(
        #"{"jobs": [{"type": "noop"}, {"type": "noop"}, {"type": "noop", "queue": "other"}]}"#)
      _ = try await daemon.request("POST", "/v1/jobs", body: #"{"id": "odd", "type": "noop", "queue": "slow"}"#)
      try root.drop("no job", as: "bad.json")
      try await daemon.waitForLog("the job file bad.json was moved to failed/")
      let asked = ContinuousClock.now
      let (type, text) = try await scrape(daemon)
      let answered = ContinuousClock.now
      #expect(type == "text/plain; version=0.0.4; charset=utf-8")
      let found = samples(text)
      #expect(found[#"bobbin_jobs_finished_total{type="noop",state="completed"}"#] == 3)
      #expect(found[#"bobbin_jobs_finished_total{type="noop",state="discarded"}"#] == 0)
      #expect(found[#"bobbin_job_waiting_seconds_count{type="noop"}"#] == 3)
      #expect(found[#"bobbin_job_running_seconds_bucket{type="noop",le="60"}"#] == 3)
      #expect(found[#"bobbin_jobs{type="noop",state="available"}"#] == 1)
      #expect(found[#"bobbin_queue_jobs{queue="slow",state="available"}"#] == 1)
      #expect(found["bobbin_workers"] == 3 && found["bobbin_pauses"] == 1 && found["bobbin_healthy"] == 1)
      #expect(found["bobbin_refused_files_total"] == 1)
      #expect(try #require(found["bobbin_flush_duration_seconds_count"]) >= 2)
      #expect(try #require(found["bobbin_flush_objects_sum"]) >= 4)
      #expect(try #require(found["bobbin_main_occupied_seconds_count"]) > 0)
      #expect(try #require(found["bobbin_store_bytes"]) > 4_096)
      #expect(try #require(found["process_resident_memory_bytes"]) > 1e6)

      let file = root.directory.path("metrics")
      try root.write(text, to: file)
      let check = try await Tool.run("/bin/sh", ["-c", "\(Self.promtool) check metrics <'\(file)'"])
      #expect(check.code == 0, "\(check.output)\(check.errors)")

      let least = (ContinuousClock.now - answered) / .seconds(1)
      let (openType, openText) = try await scrape(
        daemon, accept: "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5")
      let most = (ContinuousClock.now - asked) / .seconds(1)
      // The job in the paused queue has waited for longer by now, to the millisecond.
      let waiting = #"bobbin_queue_oldest_waiting_seconds{queue="slow"}"#
      let (first, second) = (try #require(found[waiting]), try #require(samples(openText)[waiting]))
      #expect(second - first > least - 0.002 && second - first < most + 0.002, "\(first) \(second) \(least) \(most)")
      #expect(openType == "application/openmetrics-text; version=1.0.0; charset=utf-8")
      // Each form writes bounds in the one way that it has for them.
      func bounds(_ text: String) -> Set<String> {
        Set(text.matches(of: /_bucket\{[^}]*le="([^"]+)"/).map { String($0.1) })
      }
      #expect(bounds(openText).isSuperset(of: ["0.005", "60.0", "+Inf"]) && !bounds(openText).contains("60"))
      #expect(bounds(openText).subtracting(["+Inf"]).allSatisfy { $0.contains(".") || $0.contains("e") })
      #expect(bounds(text).isSuperset(of: ["0.005", "60", "+Inf"]) && !bounds(text).contains("60.0"))
      #expect(openText.contains(#"{quantile="0.5"}"#))
      #expect(openText.hasSuffix("# EOF\n") && openText.contains("# TYPE bobbin_jobs_finished counter\n"))
      // Its reader of OpenMetrics is that of stored samples, which have times.
      let timed = openText.split(separator: "\n").map { $0.hasPrefix("#") ? "\($0)" : "\($0) 1700000000" }
      try root.write(timed.joined(separator: "\n") + "\n", to: file)
      let read = try await Tool.run(
        Self.promtool, ["tsdb", "create-blocks-from", "openmetrics", file, root.directory.path("blocks")])
      #expect(read.code == 0, "\(read.output)\(read.errors)")
      #expect(try await daemon.stop() == .exited(code: 0))

      // Whatever the dashboard and the alerts name is there.
      let fleet: Set = ["bobbin_fleet_members", "bobbin_fleet_away", "bobbin_fleet_leads_total"]
      let known = Set(found.keys.map { String($0.prefix { $0 != "{" }) }).union(fleet)
      let shown = try Self.expressions(in: JSONValue(parsing: Array(Data(contentsOf: Self.dashboard)), dialect: .json))
      #expect(shown.count > 20)
      let rules = try String(contentsOf: Self.etc.appending(path: "prometheus/bobbin.rules.yml"), encoding: .utf8)
      let series =
        found.keys.contains { $0.hasPrefix("bobbin_schedule") } ? known : known.union(["bobbin_schedule_missed_total"])
      for text in shown + [rules] {
        for name in text.matches(of: /\b(?:bobbin|process)_[a-z_]+/).map({ String($0.output) }) {
          #expect(series.contains(name), "\(name) in: \(text.prefix(200))")
        }
      }
      let queries = shown.map { $0.replacing("$__rate_interval", with: "5m").replacing(/\$\w+/, with: "x") }
      let asRules = queries.enumerated().map { "  - {record: 'q\($0)', expr: '\($1.replacing("'", with: "''"))'}" }
      try root.write("groups:\n- name: q\n  rules:\n" + asRules.joined(separator: "\n") + "\n", to: file)
      let valid = try await Tool.run(Self.promtool, ["check", "rules", file])
      #expect(valid.code == 0, "\(valid.output)\(valid.errors)")
    }

    @Test("A retry, a notice, a held type, a helper and what is not on disk yet are told as many as there are")
    func amounts() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=1h\n[Jobs]\nBackoffBaseSec=1ms\n")
      try root.declare("flaky", "[ $BOBBIN_ATTEMPT = 2 ] || exit 75", "MaxAttempts=2")
      try root.declare("fails", "exit 65")
      try root.declare("tell", "exit 0")
      try root.write("[Notify]\nType=tell\nOn=discarded\n", to: root.paths.notifiers + "/ops.conf")
      let program = root.directory.path("program")
      try root.write("[Handler]\nType=late\nExecStart=\(program)\n", to: root.paths.handlers + "/late.conf")
      try root.payload("in.jpg", try await TestPicture.jpeg())
      let daemon = try await DaemonProcess.ready(root)
      _ = try await daemon.submit(
        #"""
        {"jobs": [{"type": "flaky"}, {"type": "fails"},
          {"type": "image.encode", "arguments": {"input": "in.jpg", "outputs": []}}]}
        """#)
      _ = try await daemon.request("POST", "/v1/jobs", body: #"{"type": "late"}"#)
      // After this one no flush is due that was asked for before.
      let start = ContinuousClock.now
      #expect(try await daemon.request("POST", "/v1/flush", body: "").status == 200)
      _ = try await daemon.request("POST", "/v1/jobs", body: #"{"type": "noop"}"#)
      let status = try await daemon.get("/v1/status") { $0["writer"]?["oldestUnflushedSeconds"]?.number ?? 0 > 0 }
      let earlier = try #require(status["writer"]?["oldestUnflushedSeconds"]?.number)
      let deadline = ContinuousClock.now + .seconds(30)
      var found: [String: Double] = [:]
      // At times the type is tried again, and not held for a moment.
      repeat {
        try #require(ContinuousClock.now < deadline, "\(daemon.logText)")
        _ = try await daemon.get("/v1/status") { $0["heldTypes"]?.array?.isEmpty == false }
        found = samples(try await scrape(daemon).text)
      } while found["bobbin_held_types"] != 1
      let most = (ContinuousClock.now - start) / .seconds(1)
      let age = try #require(found["bobbin_unflushed_age_seconds"])
      #expect(age > earlier && age < most)
      #expect(try #require(found["bobbin_unflushed_objects"]) >= 1)
      #expect(try #require(found["bobbin_unflushed_bytes"]) > 0)
      for (name, value) in [
        (#"bobbin_job_retries_total{type="flaky"}"#, 1), (#"bobbin_job_retries_total{type="fails"}"#, 0),
        (#"bobbin_job_waiting_seconds_count{type="flaky"}"#, 2),
        (#"bobbin_job_running_seconds_count{type="flaky"}"#, 2),
        (#"bobbin_jobs_finished_total{type="flaky",state="completed"}"#, 1),
        (#"bobbin_jobs_finished_total{type="fails",state="discarded"}"#, 1),
        (#"bobbin_helper_starts_total{type="image.encode"}"#, 1),
        (#"bobbin_helper_failures_total{type="image.encode"}"#, 0), ("bobbin_notices_total", 1),
        ("bobbin_jobs_short", 0), ("bobbin_refused_files_total", 0),
      ] as [(String, Double)] {
        #expect(found[name] == value, "\(name)")
      }
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    private static let dashboard = etc.appending(path: "grafana/bobbin.json")

    /// All texts under a key "expr".
    private static func expressions(in value: JSONValue) -> [String] {
      switch value {
      case .array(let values): values.flatMap(expressions)
      case .object(let object):
        object.flatMap { key, value in key == "expr" ? [value.string ?? ""] : expressions(in: value) }
      default: []
      }
    }

    @Test("Beyond a hundred, types and queues are counted together")
    func manyNames() async throws {
      let root = try DaemonRoot(DaemonRoot.quickFlushes + "[Jobs]\nUnknownTypes=hold\n")
      let daemon = try await DaemonProcess.ready(root)
      _ = try await daemon.request("POST", "/v1/pause", body: "{}")
      let jobs = (0..<150).map { #"{"type": "noop", "queue": "q\#(1_000 + $0)"}"# }
      _ = try await daemon.request("POST", "/v1/jobs", body: #"{"jobs": [\#(jobs.joined(separator: ", "))]}"#)
      let found = samples(try await scrape(daemon).text)
      let queues = found.filter { $0.key.hasPrefix("bobbin_queue_jobs{") && $0.key.contains("available") }
      #expect(queues.count == 101)
      #expect(queues[#"bobbin_queue_jobs{queue="other",state="available"}"#] == 50)
      #expect(queues.values.reduce(0, +) == 150)
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test(
      "Samples tell what happened, before a restart as well, and no file that can't be read keeps a daemon from starting"
    )
    func samples() async throws {
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root)
      _ = try await daemon.submit(#"{"jobs": [{"type": "noop"}, {"type": "noop"}]}"#)
      func completed(_ daemon: DaemonProcess, query: [String: String] = [:]) async throws -> [Int64?] {
        let reply = try await daemon.request("GET", "/v1/samples", query: query).body
        let column = try #require(reply["samples"]?["completed"]?.array)
        return [reply["stepSeconds"]?.integer, column.reduce(0) { $0 + ($1.integer ?? 0) }]
      }
      #expect(try await completed(daemon) == [10, 2])
      let wrong = try await daemon.request("GET", "/v1/samples", query: ["since": "noon"])
      #expect(wrong.status == 400)
      #expect(try await daemon.stop() == .exited(code: 0))

      let again = try await DaemonProcess.ready(root)
      _ = try await again.submit(#"{"type": "noop"}"#)
      #expect(try await completed(again) == [10, 3])
      #expect(try await completed(again, query: ["since": "2020-01-01T00:00:00Z"]) == [600, 3])
      #expect(try await again.stop() == .exited(code: 0))

      try root.write("no samples", to: root.paths.state + "/samples")
      let last = try await DaemonProcess.ready(root)
      #expect(last.logText.contains("samples is damaged, or of another release; plots begin anew"))
      #expect(try await completed(last) == [10, 0])
      #expect(try await last.stop() == .exited(code: 0))
    }

    @Test("Each alert comes when it should, and not before")
    func alerts() async throws {
      let tests = RepositoryPaths.root.appending(path: "Tests/Prometheus/bobbin.rules.test.yml")
      let tool = try await Tool.run(Self.promtool, ["test", "rules", tests.path(percentEncoded: false)])
      #expect(tool.code == 0, "\(tool.output)\(tool.errors)")
    }
  }
}
