import Testing
import TextSupport

@testable import Configuration

@Suite("Values in configuration files")
struct ValueFormatTests {
  private static let hour = 3600 * 1_000_000

  @Test(
    "Time spans are read as systemd reads them",
    arguments: [
      ("250ms", 250_000), ("5s", 5_000_000), ("5", 5_000_000), ("2min", 120_000_000), ("1h 30min", hour * 3 / 2),
      ("1h30min", hour * 3 / 2), ("1h 30", hour + 30_000_000), ("1.5s", 1_500_000), ("0.25", 250_000),
      ("2 weeks 1 day 3hr", hour * (14 * 24 + 24 + 3)), ("7us", 7), ("7µs", 7), ("7 usec", 7), ("0", 0),
      ("1m", 60_000_000),
    ])
  func durations(_ text: String, _ microseconds: Int) {
    #expect(TimeSpan.parse(text) == .microseconds(microseconds))
  }

  @Test(
    "Anything else is not a time span",
    arguments: [
      "", " ", "fast", "-1s", "+1s", "1x", "1 S", "ms", "1..5s", "1.s", ".5s", "1.0000001s", "1,5s", "infinity",
      "99999999999999999999", "9999999999999w", "1.0000000000s", "٣s", "1s;", "1h -30min",
    ])
  func malformedDurations(_ text: String) {
    #expect(TimeSpan.parse(text) == nil)
  }

  @Test(
    "Time spans are printed as the shortest sum of units",
    arguments: [
      (250_000, "250ms"), (0, "0s"), (90_000_000, "1min 30s"), (hour * 25, "1d 1h"), (1_500_007, "1s 500ms 7us"),
    ])
  func printedDurations(_ microseconds: Int, _ text: String) {
    #expect(TimeSpan.text(of: .microseconds(microseconds)) == text)
    #expect(TimeSpan.parse(text) == .microseconds(microseconds))
  }

  @Test(
    "Sizes are bytes or have a suffix",
    arguments: [
      ("0", 0, "0"), ("1000", 1000, "1000"), ("64K", 65_536, "64K"), ("1024K", 1 << 20, "1M"), ("10M", 10 << 20, "10M"),
      ("2G", 2 << 30, "2G"), ("3T", 3 << 40, "3T"), ("65537", 65_537, "65537"),
    ])
  func sizes(_ text: String, _ bytes: Int, _ printed: String) {
    let format = ValueFormat<Int>.size(in: 0...Int.max)
    #expect(format.parse(text) == bytes)
    #expect(format.text(bytes) == printed)
  }

  @Test("Anything else is not a size", arguments: ["", "K", "64k", "64KB", "1.5M", "-1", "8388608T", "64 K", "0x10"])
  func malformedSizes(_ text: String) {
    #expect(ValueFormat<Int>.size(in: 0...Int.max).parse(text) == nil)
  }

  @Test(
    "Booleans have four spellings each, in upper or lower case",
    arguments: [
      ("yes", true), ("true", true), ("on", true), ("1", true), ("Yes", true), ("no", false), ("false", false),
      ("off", false), ("0", false), ("OFF", false), ("", nil), ("2", nil), ("y", nil), ("yes no", nil),
    ] as [(String, Bool?)])
  func booleans(_ text: String, _ value: Bool?) {
    #expect(ValueFormat<Bool>.boolean.parse(text) == value)
  }

  @Test("Both ends of a range are allowed, and nothing beyond")
  func ranges() {
    let integer = ValueFormat<Int>.integer(in: 1...3)
    #expect(["0", "1", "3", "4"].map(integer.parse) == [nil, 1, 3, nil])
    let size = ValueFormat<Int>.size(in: 1024...2048)
    #expect(["1023", "1K", "2K", "2049"].map(size.parse) == [nil, 1024, 2048, nil])
    let duration = ValueFormat<Duration>.duration(in: .milliseconds(1) ... .seconds(1))
    #expect(["999us", "1ms", "1s", "1001ms"].map(duration.parse) == [nil, .milliseconds(1), .seconds(1), nil])
  }

  @Test(
    "The database of a fleet is a URL of PostgreSQL without a password",
    arguments: [
      ("postgresql://bobbin@db/jobs", true), ("postgres://db1,db2/jobs?target_session_attrs=read-write", true),
      ("postgresql:///jobs?host=/run/postgresql", true), ("postgresql://bobbin@%2Frun/jobs", true),
      ("postgresql://bobbin:secret@db/jobs", false), ("postgresql://db/jobs?password=secret", false),
      ("mysql://db/jobs", false), ("host=db dbname=jobs", false), ("", false),
    ])
  func databaseURL(_ text: String, isAllowed: Bool) {
    #expect((ValueFormat.databaseURL.parse(text) != nil) == isAllowed)
  }

  @Test("Shared folders are absolute paths, and places are names")
  func lists() {
    #expect(ValueFormat.absolutePaths.parse("/srv/photos /srv/tables") == ["/srv/photos", "/srv/tables"])
    #expect(ValueFormat.absolutePaths.parse("/srv/photos tables") == nil)
    #expect(ValueFormat.names.parse("gpu disk-1") == ["gpu", "disk-1"])
    #expect(ValueFormat.names.parse("g/pu") == nil)
    #expect(ValueFormat.hostName.parse("ash_1.example") == "ash_1.example")
    #expect(ValueFormat.hostName.parse("a sh") == nil)
  }
}
