import FoundationEssentials

/// A time zone with its history and its rule for the future, from the zone files that are installed.
///
/// Foundation brings zones of its own, which are as old as it is; an operator expects those that the system has, as every
/// other program uses them. The format is RFC 9636's.
package struct ZoneInfo: Sendable, Equatable {
  /// When each offset begins, in seconds since 1970, in order.
  private var changes: [Int64] = []
  private var offsets: [ZoneOffset] = []
  /// The offset before the first change.
  private let first: ZoneOffset
  /// For all times after the last change; nil for the last offset.
  private var rule: ZoneRule?

  package static let utc = ZoneInfo(ZoneRule.utc)

  private init(_ rule: ZoneRule) {
    first = rule.standard
    self.rule = rule
  }

  /// The offset at a moment, in seconds since 1970.
  func offset(at moment: Int64) -> ZoneOffset {
    // The first change after the moment.
    var (low, high) = (0, changes.count)
    while low < high {
      let middle = (low + high) / 2
      if changes[middle] > moment { high = middle } else { low = middle + 1 }
    }
    if low == changes.count, let rule { return rule.offset(at: moment) }
    return low == 0 ? first : offsets[low - 1]
  }

  /// The names of standard time and of daylight saving time nowadays, if the zone has both.
  var names: (standard: String, daylight: String?) {
    if let rule { return (rule.standard.name, rule.daylight?.offset.name) }
    let latest = offsets.last ?? first
    return ((offsets + [first]).last { !$0.isDaylightSaving }?.name ?? latest.name, nil)
  }
}

extension ZoneInfo {
  private static let folder = "/usr/share/zoneinfo/"

  /// The zone of an IANA name, such as `Europe/Berlin`; nil if it is not installed, or counts leap seconds.
  init?(named name: some StringProtocol) {
    let parts = name.split(separator: "/", omittingEmptySubsequences: false)
    let isName = parts.allSatisfy { part in
      !part.isEmpty
        && part.utf8.allSatisfy { byte in
          let character = Unicode.Scalar(byte)
          return character.isASCII
            && (character.properties.isAlphabetic || "0123456789-_+".unicodeScalars.contains(character))
        }
    }
    guard isName, let bytes = FileManager.default.contents(atPath: Self.folder + name) else { return nil }
    self.init(file: [UInt8](bytes))
  }

  /// The zone of this process, as the C library finds it: TZ, else `/etc/localtime`, else UTC.
  package static func local(environment: [String: String] = ProcessInfo.processInfo.environment) -> ZoneInfo {
    guard var text = environment["TZ"].map({ $0[...] }) else {
      return FileManager.default.contents(atPath: "/etc/localtime").flatMap { ZoneInfo(file: [UInt8]($0)) } ?? utc
    }
    if text.hasPrefix(":") { text = text.dropFirst() }
    let path = text.hasPrefix("/") ? String(text) : folder + text
    let file = text.isEmpty ? nil : FileManager.default.contents(atPath: path).flatMap { ZoneInfo(file: [UInt8]($0)) }
    return file ?? ZoneRule(text.utf8).map(ZoneInfo.init) ?? utc
  }
}

extension ZoneInfo {
  /// Reads a zone file; nil if the bytes aren't one.
  init?(file bytes: [UInt8]) {
    var reader = Reader(rest: bytes[...])
    // The first block has numbers of 32 bits, for programs of the last century.
    guard let old = reader.header(), old.version >= UInt8(ascii: "2"), reader.skip(old.size(ofTimes: 4)),
      let counts = reader.header(), reader.rest.count >= counts.size(ofTimes: 8), counts.types > 0, counts.leaps == 0
    else { return nil }
    changes = (0..<counts.changes).map { _ in reader.number(bytes: 8) }
    let types = (0..<counts.changes).map { _ in Int(reader.number(bytes: 1)) }
    let descriptions = (0..<counts.types).map { _ in
      (
        seconds: Int(Int32(truncatingIfNeeded: reader.number(bytes: 4))),
        isDaylightSaving: reader.number(bytes: 1) != 0,
        name: Int(reader.number(bytes: 1))
      )
    }
    let names = reader.rest.prefix(counts.letters)
    guard reader.skip(counts.letters + counts.standards + counts.universals),
      types.allSatisfy({ $0 < counts.types }), changes == changes.sorted(),
      descriptions.allSatisfy({ $0.name < counts.letters && abs($0.seconds) < 86_400 * 7 })
    else { return nil }
    let all = descriptions.map { description in
      let name = names.dropFirst(description.name).prefix { $0 != 0 }
      return ZoneOffset(
        seconds: description.seconds, isDaylightSaving: description.isDaylightSaving,
        name: String(decoding: name, as: UTF8.self))
    }
    offsets = types.map { all[$0] }
    first = all[0]
    guard reader.skip(1) else { return nil }
    let footer = reader.rest.prefix { $0 != UInt8(ascii: "\n") }
    if !footer.isEmpty {
      guard let rule = ZoneRule(footer) else { return nil }
      self.rule = rule
    }
  }

  private struct Header {
    let version: UInt8
    let universals, standards, leaps, changes, types, letters: Int

    func size(ofTimes bytes: Int) -> Int {
      changes * (bytes + 1) + types * 6 + letters + leaps * (bytes + 4) + standards + universals
    }
  }

  private struct Reader {
    var rest: ArraySlice<UInt8>

    mutating func skip(_ count: Int) -> Bool {
      guard rest.count >= count else { return false }
      rest = rest.dropFirst(count)
      return true
    }

    /// A number with its most significant byte first; the caller has made sure that it is there.
    mutating func number(bytes: Int) -> Int64 {
      let value = rest.prefix(bytes).reduce(0) { $0 << 8 | UInt64($1) }
      rest = rest.dropFirst(bytes)
      return Int64(bitPattern: value)
    }

    mutating func header() -> Header? {
      guard rest.count >= 44, rest.starts(with: Array("TZif".utf8)) else { return nil }
      rest = rest.dropFirst(4)
      let version = UInt8(number(bytes: 1))
      rest = rest.dropFirst(15)
      let counts = (0..<6).map { _ in Int(number(bytes: 4)) }
      return Header(
        version: version, universals: counts[0], standards: counts[1], leaps: counts[2], changes: counts[3],
        types: counts[4], letters: counts[5])
    }
  }
}

extension ZoneRule {
  fileprivate static let utc = ZoneRule(
    standard: ZoneOffset(seconds: 0, isDaylightSaving: false, name: "UTC"), daylight: nil)
}
