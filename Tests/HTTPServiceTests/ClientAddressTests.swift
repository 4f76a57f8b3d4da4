import Glibc
import Testing

@testable import HTTPService

@Suite("Addresses of clients")
struct ClientAddressTests {
  @Test(
    "Limits count an IPv4 address, and of an IPv6 address what one client may have all of",
    arguments: [
      ("192.0.2.7", "192.0.2.7", "192.0.2.7"), ("::ffff:192.0.2.7", "192.0.2.7", "192.0.2.7"),
      ("2001:db8:0:1:2:3:4:5", "2001:db8:0:1:2:3:4:5", "2001:db8:0:1::/64"), ("::1", "::1", "::/64"),
    ])
  func networks(text: String, description: String, network: String) throws {
    var storage = sockaddr_storage()
    withUnsafeMutableBytes(of: &storage) { bytes in
      if text.contains(":") {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        inet_pton(AF_INET6, text, &address.sin6_addr)
        bytes.storeBytes(of: address, as: sockaddr_in6.self)
      } else {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        inet_pton(AF_INET, text, &address.sin_addr)
        bytes.storeBytes(of: address, as: sockaddr_in.self)
      }
    }
    let address = try #require(ClientAddress(storage))
    #expect(address.description == description)
    #expect(address.network == network)
    #expect(ClientAddress(sockaddr_storage()) == nil)
  }
}
