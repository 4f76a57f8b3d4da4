import Foundation
import SystemSupport
import TestSupport

/// A network of this process alone: one switch, at which database servers have two addresses and each host one, in a
/// namespace of its own. The switch can stop passing on what a host says and hears, as nobody but the kernel's network can.
///
/// Servers prove who they are, since programs demand it of those on a network. Everything ends with this process.
package final class PrivateNetwork: Sendable {
  /// For `.enabled(if:)`: whether there can be such networks; prints why not.
  package static func isAvailable(_ test: String = #fileID) -> Bool {
    SkipReason.runsAsRoot(test)
      && SkipReason("needs Debian's package iproute2, and the right to make namespaces, bridges and veth pairs").unless(
        isPossible, test)
  }

  private static let isPossible: Bool = {
    let trial =
      "set -e; ip link add switch type bridge; ip link add port type veth peer name other; echo ready; read -r _"
    do { _ = try SupervisedScript(trial, arguments: [], wrapper: separate) } catch { return false }
    return true
  }()

  /// The beginning of a command that has a network and mounts of its own.
  private static let separate = SeparateMounts.wrapper + ["--net"]

  private let folder: TemporaryDirectory
  private let script: SupervisedScript
  private let authority: CertificateAuthority

  /// The paths of the servers' certificate and its key.
  var certificate: String { folder.path("server.crt") }
  var key: String { folder.path("server.key") }
  /// The addresses of the servers.
  let serverAddresses = ["10.9.0.1", "10.9.0.2"]
  /// The addresses of all.
  static let addresses = "10.9.0.0/24"

  /// Makes a network with so many hosts.
  ///
  /// - Parameter environment: that of what makes certificates, which hold for five days from its time on.
  package init(hosts count: Int, environment: [String: String] = [:]) async throws {
    folder = try TemporaryDirectory()
    try PostgresCluster.unprivileged(folder.path)
    authority = try await CertificateAuthority("authority", in: folder, environment: environment)
    script = try SupervisedScript(
      Self.script, arguments: ["\(count)"] + serverAddresses, wrapper: Self.separate)
    let names = serverAddresses.map { "IP:" + $0 }.joined(separator: ",")
    try await authority.sign(certificate, key, names: names, days: 5)
  }

  /// The beginning of a command that runs where the servers are.
  var atServers: [String] { Self.enter("/proc/\(script.child.processID)/ns/net") }

  /// The beginning of a command that runs on a host.
  package func at(host: Int) -> [String] {
    // The names are among the mounts of the script.
    Self.enter("/proc/\(script.child.processID)/root/run/netns/host\(host)")
  }

  private static func enter(_ path: String) -> [String] { ["/usr/bin/nsenter", "--net=\(path)", "--"] }

  /// The address of a database, for hosts, on whichever of the servers takes writes.
  package func url(of database: String) -> String {
    "postgresql://postgres@\(serverAddresses.joined(separator: ","))/\(database)?target_session_attrs=read-write"
      + "&sslmode=verify-full&sslrootcert=\(authority.certificate)"
  }

  /// Passes on nothing that a host says or should hear from now on; nobody is told.
  package func isolate(_ host: Int) throws { try script.perform("isolate \(host)") }

  package func restore(_ host: Int) throws { try script.perform("restore \(host)") }

  private static let script = #"""
    set -euo pipefail
    count=$1
    shift
    mkdir -p /run/netns
    mount -t tmpfs none /run/netns
    ip link set lo up
    ip link add switch type bridge
    for address in "$@"; do ip address add "$address/24" dev switch; done
    ip link set switch up
    for ((host = 0; host < count; host++)); do
      ip netns add "host$host"
      ip link add "port$host" type veth peer name eth0 netns "host$host"
      ip link set "port$host" master switch up
      ip -n "host$host" address add "10.9.0.$((10 + host))/24" dev eth0
      ip -n "host$host" link set lo up
      ip -n "host$host" link set eth0 up
    done
    echo ready
    while read -r verb host; do
      case $verb in
        # The numbers are those of a bridge's ports that are disabled, and that forward.
        isolate) bridge link set dev "port$host" state 0 ;;
        restore) bridge link set dev "port$host" state 3 ;;
      esac
      echo ready
    done
    """#
}
