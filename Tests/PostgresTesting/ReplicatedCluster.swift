import Foundation
import SystemSupport
import TestSupport

/// Two PostgreSQL servers, one of them the other's synchronous standby, each on a Unix socket in a folder of its own: they
/// can be killed, started, and change places.
///
/// A commit is answered when both have it. Everything ends with this process, however that ends.
package final class ReplicatedCluster: Sendable {
  /// The folder of both servers.
  private let folder: TemporaryDirectory
  private let supervisor: ChildProcess
  private let requests: FileDescriptor
  private let answers: FileDescriptor

  package init() throws {
    folder = try TemporaryDirectory()
    let path = folder.path
    let arguments = [try PostgresCluster.binaries(), path] + (try PostgresCluster.unprivileged(path))
    let input = try FileDescriptor.pipe()
    let output = try FileDescriptor.pipe()
    supervisor = try ChildProcess.start(
      ChildLaunch(
        executable: "/bin/bash", arguments: ["-c", Self.script, "servers"] + arguments,
        environment: ["PATH": "/usr/bin:/bin:/usr/sbin", "TZ": "UTC"],
        descriptors: [0: input.first.number, 1: output.second.number, 2: output.second.number]))
    // The other ends are closed here, or else nobody would notice that the child ends early.
    requests = FileDescriptor(owning: input.split { _, writer in writer.relinquish() })
    answers = FileDescriptor(owning: output.split { reader, _ in reader.relinquish() })
    try PostgresCluster.awaitReady(answers)
  }

  /// The folder of a server's socket.
  package func socketFolder(_ server: Int) -> String { folder.path("s\(server)") }

  /// The folder of the socket of a pooler that leads to the primary, and gives each transaction another connection.
  package var poolerFolder: String { folder.path("pool") }

  /// Has the pooler lead to a server.
  package func lead(to server: Int) throws { try perform("lead \(server)") }

  /// The address of a database on whichever server takes writes, with sockets in these folders.
  package static func url(of database: String, socketFolders: [String]) -> String {
    let hosts = socketFolders.map { $0.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? $0 }
    return "postgresql://postgres@\(hosts.joined(separator: ","))/\(database)?target_session_attrs=read-write"
  }

  /// The same without anything in between.
  package func url(of database: String) -> String {
    Self.url(of: database, socketFolders: [socketFolder(0), socketFolder(1)])
  }

  /// Kills all processes of a server.
  package func kill(_ server: Int) throws { try perform("kill \(server)") }

  /// Starts a server that was killed, and waits until it takes connections.
  package func start(_ server: Int) throws { try perform("start \(server)") }

  /// Makes a standby take writes.
  package func promote(_ server: Int) throws { try perform("promote \(server)") }

  /// Makes a killed server anew, as the synchronous standby of the other, and waits until it is that.
  package func rebuild(_ server: Int) throws { try perform("rebuild \(server)") }

  private func perform(_ request: String) throws {
    try requests.writeAll(Data((request + "\n").utf8))
    try PostgresCluster.awaitReady(answers)
  }

  private static let script = #"""
    set -uo pipefail
    bin=$1 folder=$2
    shift 2
    as=("$@")
    cd "$folder"
    fail() { echo "$1"; tail -n 5 "$folder"/*.log; exit 1; }
    run() { "${as[@]}" "$@" </dev/null >>"$folder/servers.log" 2>&1; }
    ask() { "${as[@]}" "$bin/psql" -X -A -t -q -h "$folder/s$1" -U postgres -d postgres -c "$2" </dev/null; }
    start() {
      # What was killed leaves its memory behind for a moment.
      for _ in $(seq 100); do
        run "$bin/pg_ctl" -D "s$1/data" -s -w -t 60 -l "s$1/log" -o "-k $folder/s$1" start && return
        sleep 0.1
      done
      fail "server $1 does not start"
    }
    end() {
      local postmaster children
      postmaster=$(head -n 1 "s$1/data/postmaster.pid" 2>/dev/null) || return 0
      children=$(pgrep -P "$postmaster")
      kill -KILL $postmaster $children 2>/dev/null
      for process in $postmaster $children; do tail --pid="$process" -f /dev/null; done
    }
    rebuild() {
      local other=$((1 - $1))
      rm -rf "s$1/data"
      run "$bin/pg_basebackup" -h "$folder/s$other" -U postgres -D "s$1/data" -R -X stream -c fast || fail 'no copy'
      start "$1"
      for _ in $(seq 600); do
        [ "$(ask "$other" "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'")" = 1 ] && return
        sleep 0.1
      done
      fail "server $1 does not follow"
    }
    pool() {
      [ -x /usr/sbin/pgbouncer ] || return 0
      echo '"postgres" ""' >users
      printf '%s\n' '[databases]' "* = host=$folder/s$1" '[pgbouncer]' 'listen_port = 5432' \
        "unix_socket_dir = $folder/pool" 'auth_type = trust' "auth_file = $folder/users" 'pool_mode = transaction' \
        'server_login_retry = 1' "logfile = $folder/pool/log" "pidfile = $folder/pool/pid" >pool.ini
      if [ -e pool/pid ]; then
        kill -HUP "$(cat pool/pid)"
      else
        run /usr/sbin/pgbouncer -d -q pool.ini || fail 'no pooler'
      fi
    }
    trap 'end 0; end 1; [ ! -e pool/pid ] || kill "$(cat pool/pid)"' EXIT
    mkdir s0 s1 pool
    [ ${#as[@]} = 0 ] || chown --reference="$folder" s0 s1 pool
    : >servers.log
    chmod 666 servers.log
    run "$bin/initdb" -D s0/data -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync || fail 'no server'
    "${as[@]}" tee -a s0/data/postgresql.conf >/dev/null <<'END'
    listen_addresses = ''
    shared_buffers = 64MB
    max_connections = 200
    wal_keep_size = 64MB
    wal_sender_timeout = 5s
    synchronous_standby_names = '*'
    END
    start 0
    rebuild 1
    pool 0
    echo ready
    while read -r verb server; do
      case $verb in
        kill) end "$server" ;;
        start) start "$server" ;;
        promote) run "$bin/pg_ctl" -D "s$server/data" -s -w -t 60 promote || fail 'no new primary' ;;
        rebuild) rebuild "$server" ;;
        lead) pool "$server" ;;
      esac
      echo ready
    done
    """#
}
