package import Glibc

/// The address of a TCP client, without its port.
package struct ClientAddress: Hashable, Sendable, CustomStringConvertible {
  /// As `192.0.2.7` or `2001:db8::7`; an IPv4 address that came over an IPv6 socket is written as the former.
  package let description: String
  /// The part that limits count by: of an IPv6 address the first 64 bits, all of which one client may have.
  package let network: String

  /// Reads what `accept` has filled in; nil for an address of another family.
  package init?(_ storage: sockaddr_storage) {
    var bytes: [UInt8]
    switch Int32(storage.ss_family) {
    case AF_INET:
      bytes = Self.bytes(of: storage, as: sockaddr_in.self) { Self.bytes(of: $0.sin_addr) }
    case AF_INET6:
      bytes = Self.bytes(of: storage, as: sockaddr_in6.self) { Self.bytes(of: $0.sin6_addr) }
      let mapped = [UInt8](repeating: 0, count: 10) + [0xff, 0xff]
      if bytes.starts(with: mapped) { bytes.removeFirst(mapped.count) }
    default: return nil
    }
    description = Self.text(bytes)
    network = bytes.count == 4 ? description : Self.text(bytes.prefix(8) + [UInt8](repeating: 0, count: 8)) + "/64"
  }

  private static func bytes<Address>(
    of storage: sockaddr_storage, as type: Address.Type, _ read: (Address) -> [UInt8]
  ) -> [UInt8] {
    withUnsafeBytes(of: storage) { read($0.load(as: type)) }
  }

  private static func bytes(of address: some Any) -> [UInt8] { withUnsafeBytes(of: address) { Array($0) } }

  private static func text(_ bytes: [UInt8]) -> String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    // It fails for other families and shorter buffers only.
    inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count))
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
