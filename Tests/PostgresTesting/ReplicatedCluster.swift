import Foundation
import SystemSupport
import TestSupport

/// Two PostgreSQL servers, one of them the other's synchronous standby, each on a Unix socket in a folder of its own, and on a
/// network if there is one: they can be killed, started, and change places.
///
/// A commit is answered when both have it. Everything ends with this process, however that ends.
package final class ReplicatedCluster: Sendable {
  /// The folder of both servers.
  private let folder: TemporaryDirectory
  private let script: SupervisedScript
  /// The network that it is on.
  package let network: PrivateNetwork?

  package init(on network: PrivateNetwork? = nil) throws {
    self.network = network
    folder = try TemporaryDirectory()
    let addresses = network?.serverAddresses ?? ["", ""]
    let certificate = network.map { [$0.certificate, $0.key, PrivateNetwork.addresses] } ?? ["", "", ""]
    let prefix = (network?.atServers ?? []) + (try PostgresCluster.unprivileged(folder.path))
    script = try SupervisedScript(
      Self.script, arguments: [try PostgresCluster.binaries(), folder.path] + addresses + certificate + prefix)
  }

  /// The folder of a server's socket.
  package func socketFolder(_ server: Int) -> String { folder.path("s\(server)") }

  /// The folder of the socket of a pooler that leads to the primary, and gives each transaction another connection.
  package var poolerFolder: String { folder.path("pool") }

  /// Has the pooler lead to a server.
  package func lead(to server: Int) throws { try script.perform("lead \(server)") }

  /// The address of a database on whichever server takes writes, or behind a pooler, with sockets in these folders.
  package static func url(of database: String, socketFolders: [String], isPooled: Bool = false) -> String {
    let hosts = socketFolders.map { $0.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? $0 }
    return "postgresql://postgres@\(hosts.joined(separator: ","))/\(database)?"
      + (isPooled ? "pooled=yes" : "target_session_attrs=read-write")
  }

  /// The same without anything in between.
  package func url(of database: String) -> String {
    Self.url(of: database, socketFolders: [socketFolder(0), socketFolder(1)])
  }

  /// Kills all processes of a server.
  package func kill(_ server: Int) throws { try script.perform("kill \(server)") }

  /// Starts a server that was killed, and waits until it takes connections.
  package func start(_ server: Int) throws { try script.perform("start \(server)") }

  /// Makes a standby take writes.
  package func promote(_ server: Int) throws { try script.perform("promote \(server)") }

  /// Makes a killed server anew, as the synchronous standby of the other, and waits until it is that.
  package func rebuild(_ server: Int) throws { try script.perform("rebuild \(server)") }

  private static let script = #"""
    set -uo pipefail
    bin=$1 folder=$2 addresses=("$3" "$4") certificate=$5 key=$6 network=$7
    shift 7
    as=("$@")
    cd "$folder"
    fail() { echo "$1"; tail -n 5 "$folder"/*.log; exit 1; }
    run() { "${as[@]}" "$@" </dev/null >>"$folder/servers.log" 2>&1; }
    ask() { "${as[@]}" "$bin/psql" -X -A -t -q -h "$folder/s$1" -U postgres -d postgres -c "$2" </dev/null; }
    # Processes are known by their numbers: at the end the folder may be gone.
    postmasters=('' '') pooler=
    start() {
      # What was killed leaves its memory behind for a moment.
      for _ in $(seq 100); do
        run "$bin/pg_ctl" -D "s$1/data" -s -w -t 60 -l "s$1/log" -o "-k $folder/s$1 -c listen_addresses=${addresses[$1]}" start \
          && postmasters[$1]=$(head -n 1 "s$1/data/postmaster.pid") && return
        sleep 0.1
      done
      fail "server $1 does not start"
    }
    end() {
      local postmaster=${postmasters[$1]} children
      [ -n "$postmaster" ] || return 0
      postmasters[$1]=
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
    tell_pooler() { run "$bin/psql" -X -q -h "$folder/pool" -U postgres -d pgbouncer -c "$1"; }
    pool() {
      [ -x /usr/sbin/pgbouncer ] || return 0
      echo '"postgres" ""' >users
      printf '%s\n' '[databases]' "* = host=$folder/s$1" '[pgbouncer]' 'listen_port = 5432' \
        "unix_socket_dir = $folder/pool" 'auth_type = trust' "auth_file = $folder/users" 'admin_users = postgres' \
        'pool_mode = transaction' 'server_login_retry = 0.2' 'ignore_startup_parameters = options' \
        "logfile = $folder/pool/log" >pool.ini
      if [ -n "$pooler" ]; then
        tell_pooler RELOAD || fail 'the pooler is not told'
      else
        "${as[@]}" /usr/sbin/pgbouncer -q pool.ini </dev/null >>servers.log 2>&1 &
        pooler=$!
        for _ in $(seq 100); do
          tell_pooler 'SHOW VERSION' && return
          sleep 0.1
        done
        fail 'no pooler'
      fi
    }
    trap 'end 0; end 1; [ -z "$pooler" ] || kill "$pooler"' EXIT
    mkdir s0 s1 pool
    [ ${#as[@]} = 0 ] || chown --reference="$folder" s0 s1 pool
    : >servers.log
    chmod 666 servers.log
    run "$bin/initdb" -D s0/data -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync || fail 'no server'
    "${as[@]}" tee -a s0/data/postgresql.conf >/dev/null <<'END'
    shared_buffers = 64MB
    max_connections = 200
    wal_keep_size = 64MB
    wal_sender_timeout = 5s
    wal_retrieve_retry_interval = 200ms
    synchronous_standby_names = '*'
    END
    if [ -n "$network" ]; then
      printf '%s\n' 'ssl = on' "ssl_cert_file = '$certificate'" "ssl_key_file = '$key'" |
        "${as[@]}" tee -a s0/data/postgresql.conf >/dev/null
      echo "hostssl all all $network trust" | "${as[@]}" tee -a s0/data/pg_hba.conf >/dev/null
    fi
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
