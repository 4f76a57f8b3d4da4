/// The place that a job asks for: one that its host offers, the site of its files, or both.
///
/// The ledger has it as one text, which is among the places of each host that gives it; so whoever assigns jobs compares texts.
package struct FleetPlace: Sendable, Equatable {
  /// The hosts on which a job finds its files, and may open them.
  package enum Site: Sendable, Equatable {
    /// The host of the spool with this root, which alone sees them.
    case spool(String)
    /// The hosts of a user domain: all see them, but to others its submitter's number may be another user's.
    case users(of: String)

    private static let usersPrefix = "users of "

    fileprivate init(_ name: String) {
      if let domain = Self.domain(name) { self = .users(of: domain) } else { self = .spool(name) }
    }

    fileprivate static func domain(_ name: String) -> String? {
      name.hasPrefix(usersPrefix) ? String(name.dropFirst(usersPrefix.count)) : nil
    }

    fileprivate var name: String {
      switch self {
      case .spool(let root): root
      case .users(let domain): Self.usersPrefix + domain
      }
    }
  }

  /// The place that the job names.
  package let offered: String?
  package let site: Site?

  private static let separator = " at "

  package init(offered: String?, site: Site?) {
    self.offered = offered == site?.name ? nil : offered
    self.site = site
  }

  /// Reads what ``name`` has written; a name of one part is that of a place or of a spool, which whoever knows hosts can tell.
  package init?(_ name: String?) {
    guard let name else { return nil }
    if let range = name.firstRange(of: Self.separator) {
      self.init(offered: String(name[..<range.lowerBound]), site: Site(String(name[range.upperBound...])))
    } else if let domain = Site.domain(name) {
      self.init(offered: nil, site: .users(of: domain))
    } else {
      self.init(offered: name, site: nil)
    }
  }

  /// The root of the spool whose host alone sees its files.
  package var spool: String? { if case .spool(let root) = site { root } else { nil } }

  /// The user domain that its submitter's number is of.
  package var userDomain: String? { if case .users(let domain) = site { domain } else { nil } }

  /// The text in the ledger; nil for any host.
  package var name: String? {
    switch (offered, site) {
    case (let offered?, let site?): offered + Self.separator + site.name
    default: offered ?? site?.name
    }
  }

  /// The texts of all that a host gives.
  ///
  /// - Parameters:
  ///   - places: the places that it offers.
  ///   - spool: the root of its spool.
  ///   - userDomain: the domain of its users; empty for none.
  package static func names(offered places: [String], spool: String, userDomain: String = "") -> Set<String> {
    let sites = [Site.spool(spool)] + (userDomain.isEmpty ? [] : [.users(of: userDomain)])
    let both = sites.flatMap { site in ([nil] + places).compactMap { FleetPlace(offered: $0, site: site).name } }
    return Set(places + both)
  }
}
