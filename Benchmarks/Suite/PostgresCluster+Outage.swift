import Foundation
import PostgresTesting

/// The outage of a server of this suite: its death, and its return.
extension PostgresCluster {
  /// Kills all processes of the server, and waits until they are gone.
  func kill() async throws { try await Self.perform(Self.killing, [folder]) }

  /// Starts the server that was killed, with the settings that it had, and waits until it takes connections.
  ///
  /// - Returns: the moment since when it does: the server notes it in its file postmaster.pid, and nothing after it.
  func startAgain() async throws -> Date {
    try await Self.perform(Self.starting, [folder] + Self.unprivileged(folder))
    let file = folder + "/data/postmaster.pid"
    guard let ready = try FileManager.default.attributesOfItem(atPath: file)[.modificationDate] as? Date else {
      throw BenchError("\(file) has no time")
    }
    return ready
  }

  private static func perform(_ script: String, _ arguments: [String]) async throws {
    _ = try await Program("/bin/bash").run(
      ["-c", script, "bash"] + arguments, environment: ["PATH": "/usr/bin:/bin:/usr/sbin", "TZ": "UTC"])
  }

  /// The file with the process ID goes as well, as that may be another process's by the time of the start.
  private static let killing = """
    cd "$1" || exit 1
    read -r postmaster <data/postmaster.pid || exit 1
    children=$(pgrep -P "$postmaster")
    kill -KILL $postmaster $children
    for process in $postmaster $children; do tail --pid="$process" -f /dev/null; done
    rm data/postmaster.pid
    """

  /// `restart` takes the settings of the last start, which lie in postmaster.opts behind the path of the program.
  private static let starting = """
    cd "$1" || exit 1
    shift
    read -r server _ <data/postmaster.opts || exit 1
    # What was killed leaves its memory behind for a moment.
    for _ in $(seq 100); do
      "$@" "${server%/*}/pg_ctl" -D "$PWD/data" -s -w -t 60 -l "$PWD/data/server.log" restart </dev/null && exit
      sleep 0.1
    done
    tail -n 5 data/server.log
    exit 1
    """
}
