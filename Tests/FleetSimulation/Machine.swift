import Fleet
import Jobs

/// A machine of the simulated fleet: its spool survives the processes that run on it.
final class Machine {
  let number: Int
  var root: String { "root\(number)" }
  /// Files that were accepted, and are not in the ledger yet.
  var spool: [FleetJob] = []
  var process: Process?
  /// Nothing happens in its process before that time.
  var stoppedUntil: Int64 = 0
  var cutUntil: Int64 = 0
  /// The last time at which anything was wrong with it, other than with the database.
  var lastExcuse: Int64 = 0
  var disturbances: [(channel: Int, kind: FleetProgram.Disturbance, count: Int)] = []

  init(number: Int) { self.number = number }
}

/// A daemon that runs on a machine, from its start to its end.
final class Process {
  let machine: Machine
  var member: FleetMember?
  var isDead = false
  var timers: [MemberTimer: Int64] = [:]
  /// The runs that workers have begun, and those whose handlers have ended.
  var begun: Set<Run> = []
  var ended: Set<Run> = []
  /// The runs that wait for a worker.
  var waiting: [Run] = []
  /// What its runs were told.
  var stops: [Run: JobEvent] = [:]
  /// The runs among them of which nothing will be left.
  var reverted: Set<Run> = []
  var leadsSince: Int64?
  /// True if the ledger may have lost what it goes by, and no beat has told it so yet.
  var isSetBack = false

  init(on machine: Machine) { self.machine = machine }
}
