import Foundation
import Glibc
import SystemSupport
import TestSupport

/// A PostgreSQL server of this process alone: on a Unix socket in a temporary folder, started once, ended with the
/// process.
///
/// The one that tests share doesn't wait for the disk, so it's no use for tests of durability. Its default order of texts isn't that of code
/// points, so that a column that should have that order and hasn't is noticed.
package final class PostgresCluster: Sendable {
  /// Why there is no server.
  package struct Missing: Error, CustomStringConvertible { package let description: String }

  private static let shared = Result { () throws(Missing) in try PostgresCluster() }

  /// For `.enabled(if:)`: whether tests can have databases; prints why not. If a server is installed and does not start,
  /// they fail.
  package static func isAvailable(_ test: String = #fileID) -> Bool {
    do throws(Missing) { _ = try binaries() } catch { return SkipReason(error.description).unless(false, test) }
    return true
  }

  /// Makes an empty database for one test.
  package static func makeDatabase() throws -> TestDatabase { try shared.get().newDatabase() }

  /// Makes an empty database of this server.
  package func newDatabase() throws -> TestDatabase { try TestDatabase(in: self) }

  /// The folder of the socket and of the server's log.
  package let folder: String
  private let script: SupervisedScript

  /// For `.enabled(if:)`: whether tests can have connections through a pooler; prints why not.
  package static func hasPooler(_ test: String = #fileID) -> Bool {
    guard isAvailable(test) else { return false }
    let isInstalled = FileManager.default.isExecutableFile(atPath: "/usr/sbin/pgbouncer")
    return SkipReason("needs Debian's package pgbouncer").unless(isInstalled, test)
  }

  /// The role that has to give its password; everybody else is let in.
  package static let roleWithPassword = "locked"
  package static let password = "correct-horse-4711"

  /// The address of a database of this server, or of what a test does to its address.
  package func url(of database: String) -> String { url(of: database, socketFolder: folder, port: "") }

  func url(of database: String, socketFolder: String, port: String) -> String {
    let host = socketFolder.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? socketFolder
    return "postgresql://postgres@\(host)\(port)/\(database)"
  }

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - parent: the folder for its own; the system's for temporary files if nil.
  ///   - isDurable: whether commits are on disk when they are answered.
  ///   - settings: further settings of the server, in words without spaces.
  package init(in parent: String? = nil, isDurable: Bool = false, settings: [String: String] = [:]) throws(Missing) {
    let binaries = try Self.binaries()
    do {
      let name = "bobbin-postgres-" + String(UInt64.random(in: .min ... .max), radix: 36)
      folder =
        parent.map { $0 + "/" + name }
        ?? FileManager.default.temporaryDirectory.appending(path: name).path(percentEncoded: false)
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
      let prefix = try Self.unprivileged(folder)
      let sizes =
        isDurable
        ? ["shared_buffers": "512MB", "max_wal_size": "4GB"]
        : [
          "shared_buffers": "64MB", "max_wal_size": "512MB", "fsync": "off", "full_page_writes": "off",
          "autovacuum": "off",
        ]
      let words = sizes.merging(settings) { $1 }.map { "-c \($0)=\($1)" }.joined(separator: " ")
      script = try SupervisedScript(Self.script, arguments: [binaries, folder, words] + prefix)
    } catch {
      throw Missing(description: "PostgreSQL does not start: \(error)")
    }
  }

  /// The folder of the newest server's programs, where Debian puts them.
  package static func binaries() throws(Missing) -> String {
    let root = "/usr/lib/postgresql"
    let versions = ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []).compactMap { Int($0) }
    guard
      let newest = versions.sorted().last(where: {
        FileManager.default.isExecutableFile(atPath: "\(root)/\($0)/bin/postgres")
      })
    else { throw Missing(description: "needs PostgreSQL's server (Debian's package postgresql)") }
    return "\(root)/\(newest)/bin"
  }

  /// The beginning of a command that runs as somebody whom the server accepts, to whom the folder or file belongs then.
  @discardableResult
  package static func unprivileged(_ folder: String) throws -> [String] {
    guard Credentials.effectiveUser == 0 else { return [] }
    guard let account = try UserAccount.find("postgres") ?? UserAccount.find("nobody") else {
      throw Missing(description: "there is neither a user postgres nor nobody")
    }
    guard chown(folder, account.user, account.group) == 0 else {
      throw Missing(description: "the folder \(folder) can't be given to \(account.name)")
    }
    return ["setpriv", "--reuid=\(account.user)", "--regid=\(account.group)", "--clear-groups", "--"]
  }

  private static let script = """
    set -eu
    bin=$1 folder=$2 given=$3
    shift 3
    trap 'rm -rf "$folder"' EXIT
    cd "$folder"
    "$@" "$bin/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 --locale-provider=icu \
      --icu-locale=en --no-sync >"$folder/initdb.log" 2>&1 || { cat "$folder/initdb.log"; exit 1; }
    "$@" sed -i '1i local all locked scram-sha-256' "$folder/data/pg_hba.conf"
    settings="-k $folder -c listen_addresses= -c wal_level=minimal -c max_wal_senders=0 -c max_connections=300
      $given"
    settings=$(echo $settings)
    "$@" "$bin/pg_ctl" -D "$folder/data" -s -w -t 60 -l "$folder/data/server.log" -o "$settings" start </dev/null \
      >"$folder/start.log" 2>&1 || { cat "$folder/start.log" "$folder/data/server.log"; exit 1; }
    if [ -x /usr/sbin/pgbouncer ]; then
      # Each transaction may have another connection.
      "$@" mkdir "$folder/pool"
      echo '"postgres" ""' >"$folder/users"
      printf '%s\\n' '[databases]' "* = host=$folder" '[pgbouncer]' 'listen_port = 6432' \
        "unix_socket_dir = $folder/pool" 'auth_type = trust' "auth_file = $folder/users" 'pool_mode = transaction' \
        'max_client_conn = 500' "logfile = $folder/pool/log" "pidfile = $folder/pool/pid" >"$folder/pooler.ini"
      "$@" /usr/sbin/pgbouncer -d -q "$folder/pooler.ini"
    fi
    echo ready
    read -r _ || :
    [ ! -e "$folder/pool/pid" ] || kill "$(cat "$folder/pool/pid")" || :
    "$@" "$bin/pg_ctl" -D "$folder/data" -s -w -t 10 -m immediate stop || :
    """
}
