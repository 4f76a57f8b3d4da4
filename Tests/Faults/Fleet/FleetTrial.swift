import DaemonTesting
import Foundation
import Glibc
import PostgresTesting
import SystemSupport
import TestSupport
import Testing

/// Hosts that share one replicated database, the jobs that they were given, and what the database noticed of them.
actor FleetTrial {
  struct Host {
    let name: String
    let root: DaemonRoot
    let link: HostLink
    let clock: SettableClock
    /// The path of its daemon, or the name of one that this package has.
    var program = "bobbind"
    var daemon: DaemonProcess?
  }

  let servers: ReplicatedCluster
  private(set) var hosts: [Host] = []
  private(set) var primary = 0
  /// The rows that each job inserts.
  private var expected: [String: Int] = [:]
  private(set) var problems: [Problem] = []
  var takeovers: [Takeover] = []
  private var random = SeededGenerator(seed: FaultPlan.seed)

  static let database = "bobbin"
  static let channel = "trial"
  /// The most jobs of the type `narrow` that may run at a time, on all hosts together.
  private static let narrowLimit = 2
  /// The most of the type `wide`, and of the queue `calm`, whose limits are configured.
  private static let (wideLimit, calmLimit) = (5, 3)
  /// The most jobs of the queue `slow` that may start in two seconds.
  private static let rate = 4
  /// The number of rows of an import.
  private static let importRows = 50

  var url: String { servers.url(of: Self.database) }
  var jobCount: Int { expected.count }
  /// True if a spool has files.
  var hasWork: Bool { get throws { try hosts.contains { try !$0.root.isSpoolEmpty } } }

  /// - Parameters:
  ///   - route: what lies between the hosts and the servers; the last host has no pooler, also where the others have one.
  ///   - isSynchronous: true to have commits wait for the standby.
  ///   - program: the daemon that hosts begin with; this package's if nil.
  init(
    hosts names: [String], by route: HostLink.Route = .sockets, isSynchronous: Bool = true, program: String? = nil
  ) async throws {
    let network = route == .network ? try await Self.makeNetwork(hosts: names.count) : nil
    servers = try ReplicatedCluster(on: network)
    try TestDatabase.run("CREATE DATABASE \(Self.database)", servers.url(of: "postgres"))
    if !isSynchronous {
      try TestDatabase.run(
        "ALTER DATABASE \(Self.database) SET synchronous_commit = local", servers.url(of: "postgres"))
    }
    for (number, name) in names.enumerated() {
      let link = try HostLink(to: servers, host: number, isPooled: route == .pooler && number < names.count - 1)
      hosts.append(try await makeHost(name, link))
      if let program { hosts[number].program = program }
    }
    for index in hosts.indices { try await start(index) }
    try watch()
  }

  private static func makeNetwork(hosts count: Int) async throws -> PrivateNetwork {
    // The certificate has to hold for hosts whose clocks are a day behind, too.
    let past = try await SettableClock()
    try past.set(ahead: -172_800)
    return try await PrivateNetwork(hosts: count, environment: past.environment)
  }

  private func makeHost(_ name: String, _ link: HostLink) async throws -> Host {
    let root = try DaemonRoot(
      "[Store]\nUrl=\(link.url(of: Self.database))\n[Fleet]\nName=\(name)\n[Workers]\nCount=3\n\(DaemonRoot.quickFlushes)\n"
        + "[Type wide]\nConcurrency=\(Self.wideLimit)\n[Queue calm]\nConcurrency=\(Self.calmLimit)\n")
    let row = #"{"insert": {"entity": "Reading", "values": {"job": "'$BOBBIN_JOB_ID'", "number": 1}}}"#
    for type in ["wide", "narrow"] {
      let path = root.directory.path("\(type).sh")
      // Some jobs are over before a fault, others are met by it.
      try root.write("sleep 0.$(($$ % 4))\necho '\(row)'\n", to: path)
      try root.write("[Handler]\nType=\(type)\nExecStart=/bin/sh \(path)\n", to: root.paths.handlers + "/\(type).conf")
    }
    let numbers = (0..<Self.importRows).map { "\($0)\n" }.joined()
    try root.payload("numbers.csv", "number\n" + numbers)
    return Host(name: name, root: root, link: link, clock: try await SettableClock())
  }

  /// Has the database note what must not be, and when it knew hosts for lost.
  private func watch() throws {
    try TestDatabase.run(
      """
      CREATE SCHEMA trial;
      CREATE TABLE trial.violation (what text);
      CREATE TABLE trial.ended (host bigint, at timestamptz DEFAULT clock_timestamp());
      CREATE TABLE trial.beat (host bigint, at timestamptz DEFAULT clock_timestamp());
      CREATE TABLE trial.started (at timestamptz DEFAULT clock_timestamp());
      CREATE FUNCTION trial.count_runs() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO trial.started (at)
          SELECT clock_timestamp() FROM made JOIN bobbin."Job" j ON j._key = made.job WHERE j.queue = 'slow';
        WITH runs AS (SELECT j.type, j.queue FROM bobbin._run r JOIN bobbin."Job" j ON j._key = r.job),
        counts (what, n, most) AS (
          SELECT 'the key narrow', count(*), \(Self.narrowLimit) FROM runs WHERE type = 'narrow'
          UNION ALL SELECT 'the type wide', count(*), \(Self.wideLimit) FROM runs WHERE type = 'wide'
          UNION ALL SELECT 'the queue calm', count(*), \(Self.calmLimit) FROM runs WHERE queue = 'calm'
          -- Those that waited for the database with their round may come together with the next.
          UNION ALL SELECT 'the rate of slow', count(*), 2 * \(Self.rate) FROM trial.started
          WHERE at > clock_timestamp() - interval '1900 ms')
        INSERT INTO trial.violation SELECT what || ' has ' || n || ' of at most ' || most FROM counts WHERE n > most;
        RETURN NULL; END $$;
      CREATE TRIGGER runs AFTER INSERT ON bobbin._run REFERENCING NEW TABLE AS made
        FOR EACH STATEMENT EXECUTE FUNCTION trial.count_runs();
      CREATE FUNCTION trial.compare_terms() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.term < OLD.term THEN INSERT INTO trial.violation VALUES ('the term fell to ' || NEW.term); END IF;
        RETURN NULL; END $$;
      CREATE TRIGGER terms AFTER UPDATE ON bobbin._lead FOR EACH ROW EXECUTE FUNCTION trial.compare_terms();
      CREATE FUNCTION trial.note_end() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.state <> 'alive' THEN
          INSERT INTO trial.ended (host) VALUES (NEW.number);
          NOTIFY \(Self.channel);
        END IF;
        RETURN NULL; END $$;
      CREATE TRIGGER ended AFTER UPDATE OF state ON bobbin._host FOR EACH ROW EXECUTE FUNCTION trial.note_end();
      CREATE FUNCTION trial.note_beat() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO trial.beat (host) VALUES (NEW.host);
        RETURN NULL; END $$;
      CREATE TRIGGER beats AFTER UPDATE ON bobbin._beat FOR EACH ROW EXECUTE FUNCTION trial.note_beat();
      """, url)
  }

  // MARK: Jobs

  /// Drops files of random kinds into the spools of random hosts, whether they run or not.
  func drop(files count: Int) throws {
    for _ in 0..<count {
      let id = "job-\(expected.count)"
      let host = hosts[Int.random(in: hosts.indices, using: &random)]
      let text: String
      switch Int.random(in: 0..<10, using: &random) {
      case 0:
        let columns = #""columns": {"number": "number"}, "values": {"job": "\#(id)"}"#
        text = #"""
          {"type": "import", "id": "\#(id)",
           "arguments": {"input": "numbers.csv", "entity": "Reading", \#(columns)}}
          """#
        expected[id] = Self.importRows
      case 1...3:
        text = #"""
          {"type": "narrow", "id": "\#(id)", "limit": {"key": "narrow", "concurrent": \#(Self.narrowLimit)}}
          """#
        expected[id] = 1
      case 4 where !expected.isEmpty:
        text = #"{"type": "noop", "id": "\#(id)", "after": ["job-\#(expected.count - 1)"]}"#
        expected[id] = 0
      case 5:
        text = #"{"type": "wide", "id": "\#(id)", "queue": "calm"}"#
        expected[id] = 1
      case 6:
        text = #"""
          {"type": "wide", "id": "\#(id)", "queue": "slow", "limit": {"key": "slow", "rate": "\#(Self.rate)/2s"}}
          """#
        expected[id] = 1
      default:
        text = #"{"type": "wide", "id": "\#(id)"}"#
        expected[id] = 1
      }
      try host.root.drop(text, as: FileName("\(id).json"))
    }
  }

  /// Waits until all jobs are over, and looks at what there is.
  func settle() async throws {
    for index in hosts.indices { try await start(index) }
    for host in hosts { try await host.daemon?.waitUntilSpoolIsEmpty(seconds: 60) }
    let rows = try TestDatabase.rows(
      """
      SELECT j.id, j.state, (SELECT count(*) FROM bobbin."Reading" WHERE job = j.id),
        (SELECT count(DISTINCT number) FROM bobbin."Reading" WHERE job = j.id) FROM bobbin."Job" AS j
      """, url)
    var found: Set<String> = []
    for row in rows {
      let (id, state) = (row[0] ?? "", row[1] ?? "")
      if !found.insert(id).inserted { note(.repetition, "two jobs \(id)") }
      let wanted = expected[id].map { ["completed", "\($0)", "\($0)"] } ?? []
      if Array(row.dropFirst()) == wanted { continue }
      let count = row[2].flatMap { Int($0) } ?? 0
      let isRepeated = state == "completed" && count > expected[id] ?? 0
      note(isRepeated ? .repetition : .loss, "\(id) is \(row.dropFirst()), not \(wanted)")
    }
    for id in expected.keys where !found.contains(id) { note(.loss, "\(id) is gone") }
    for row in try TestDatabase.rows("DELETE FROM trial.violation RETURNING what", url) {
      note(.other, row[0] ?? "a violation")
    }
    let rest = try TestDatabase.rows("SELECT count(*) FROM bobbin._run", url)[0][0]
    if rest != "0" { note(.other, "\(rest ?? "") runs are left") }
    for host in hosts where try !host.root.failedFiles.isEmpty { note(.other, "\(host.name) refused files") }
  }

  func note(_ kind: Problem.Kind, _ text: String) { problems.append(Problem(kind: kind, description: text)) }

  // MARK: Hosts

  /// Starts a host that does not run.
  func start(_ index: Int) async throws {
    if let daemon = hosts[index].daemon, try daemon.end == nil { return }
    let host = hosts[index]
    hosts[index].daemon = try await DaemonProcess.ready(
      host.root, program: host.program, wrapper: host.link.wrapper, environment: host.clock.environment)
  }

  /// Has a host run another daemon from its next start on.
  func install(_ program: String, on index: Int) { hosts[index].program = program }

  func daemon(_ index: Int) throws -> DaemonProcess {
    try #require(hosts[index].daemon)
  }

  /// Draws a host that runs.
  func anyHost() throws -> Int {
    let running = try hosts.indices.filter { try hosts[$0].daemon.map { try $0.end == nil } ?? false }
    return try #require(running.randomElement(using: &random))
  }

  /// The host that leads, or any if none does just now.
  func lead() throws -> Int {
    let root = try TestDatabase.run(
      "SELECT h.root FROM bobbin._lead l JOIN bobbin._host h ON h.number = l.host", url)
    return try hosts.firstIndex { root?.contains($0.root.directory.path) ?? false } ?? anyHost()
  }

  /// Waits for the end of a host that others have taken the jobs of.
  func expectFenced(_ index: Int) async throws {
    let daemon = try daemon(index)
    let end = try await daemon.waitForEnd(seconds: 30)
    if end != .exited(code: 75) { note(.other, "\(hosts[index].name), fenced, \(end)\n\(daemon.logText.suffix(2000))") }
  }

  /// Counts hosts that have ended though nothing was done to them, and starts them.
  func restartEnded(after fault: String) async throws {
    for index in hosts.indices {
      guard let daemon = hosts[index].daemon, let end = try daemon.end else { continue }
      if !isExcused(end, index, "after \(fault)") {
        note(.other, "\(hosts[index].name) \(end) after \(fault)\n\(daemon.logText.suffix(2000))")
      }
      try await start(index)
    }
  }

  /// Stops a host, and expects that it ends in order.
  func stop(_ index: Int) async throws {
    let daemon = try daemon(index)
    let end = try await daemon.stop()
    if end != .exited(code: 0), !isExcused(end, index, "when it was to stop") {
      note(.other, "\(hosts[index].name), stopped, \(end)\n\(daemon.logText.suffix(2000))")
    }
  }

  /// True, and told, for a host that was fenced though nothing was done to it: among a thousand other tests it may get no
  /// processor for so long, and then it should be.
  private func isExcused(_ end: Termination.Status, _ index: Int, _ moment: String) -> Bool {
    if end != .exited(code: 75) || FaultPlan.isWhole { return false }
    print("faults: chaos in a fleet: \(hosts[index].name) was fenced \(moment), on a machine with other work")
    return true
  }

  // MARK: Servers

  func restartServer() async throws {
    let (servers, primary) = (servers, primary)
    try await onThread {
      try servers.kill(primary)
      try servers.start(primary)
    }
  }

  /// Kills the primary, promotes its standby, and makes a new standby of the old one.
  func failOver() async throws {
    let (servers, old) = (servers, primary)
    primary = 1 - old
    try await onThread { [primary] in
      try servers.kill(old)
      try servers.promote(primary)
      try servers.lead(to: primary)
      try servers.rebuild(old)
    }
  }

  /// Has the standby, which does not know what the fleet has done for up to two seconds, take the place of the primary; the
  /// hosts notice it.
  ///
  /// - Parameter isHostDown: true to have one of them down meanwhile.
  func failOverLosingAnswers(isHostDown: Bool) async throws {
    let (servers, old) = (servers, primary)
    primary = 1 - old
    try await onThread { [primary] in try servers.kill(primary) }
    try drop(files: number(in: 4...12))
    // The moment is the fault.
    try await Task.sleep(for: .milliseconds(number(in: 0...2_000)))
    if isHostDown { try await daemon(anyHost()).kill() }
    let running = try hosts.indices.filter { try hosts[$0].daemon?.end == nil }
    try await onThread { [primary] in
      try servers.kill(old)
      try servers.start(primary)
      try servers.promote(primary)
      // What goes between takes connections to a dead server, at which the client would stop.
      try servers.rebuild(old)
    }
    for index in running { try await expectFenced(index) }
    for index in hosts.indices { try await start(index) }
  }

  func setClock(_ index: Int, ahead seconds: Int64) throws { try hosts[index].clock.set(ahead: seconds) }

  func pick<Element>(_ elements: [Element]) -> Element {
    elements[Int.random(in: elements.indices, using: &random)]
  }

  func shuffled<Element>(_ elements: [Element]) -> [Element] { elements.shuffled(using: &random) }

  func number(in range: ClosedRange<Int>) -> Int { .random(in: range, using: &random) }

  /// Ends all hosts in order.
  func stop() async throws {
    for index in hosts.indices where try hosts[index].daemon.map({ try $0.end == nil }) ?? false {
      try await stop(index)
    }
  }
}
