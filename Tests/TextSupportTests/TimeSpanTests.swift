import Testing
import TextSupport

@Suite("Time spans")
struct TimeSpanTests {
  @Test(
    "Durations for people have at most two units, and are rounded into the next one rather than up to its size",
    arguments: [
      (-1, "0 s"), (0, "0 s"), (0.0000042, "4.2 µs"), (0.0009999, "1 ms"), (0.0123, "12 ms"), (0.9996, "1 s"),
      (1, "1 s"), (9.94, "9.9 s"), (9.96, "10 s"), (59.4, "59 s"), (59.97, "1 min"), (60, "1 min"), (63, "1 min 3 s"),
      (3599.971, "1 h"), (3725, "1 h 2 min"), (86_400, "1 d"), (.infinity, "1157407407407 d 9 h"),
    ] as [(Double, String)])
  func words(seconds: Double, text: String) {
    #expect(TimeSpan.words(seconds: seconds) == text)
  }

  @Test(
    "A time span is a sum of numbers with units; what is no exact number of microseconds, or too many, is none",
    arguments: [
      ("90", .seconds(90)), ("1h 30min", .seconds(5_400)), ("1.5 s", .milliseconds(1_500)),
      ("2w1d", .seconds(1_296_000)),
      ("0.000001s", .microseconds(1)), ("0s", .zero), ("", nil), ("  ", nil), ("s", nil), ("-1s", nil), ("1 year", nil),
      ("0.0000001s", nil), ("1.", nil), ("9223372036854775807us", .microseconds(Int.max)),
      ("9223372036854775807us 1us", nil), ("9223372036854775807s", nil),
    ] as [(String, Duration?)])
  func parse(text: String, duration: Duration?) {
    #expect(TimeSpan.parse(text) == duration)
  }

  @Test(
    "A duration is written as it is read, each unit with what the greater ones leave",
    arguments: [
      (.zero, "0s"), (.seconds(5_400), "1h 30min"), (.seconds(90_061), "1d 1h 1min 1s"),
      (.milliseconds(1_500), "1s 500ms"),
      (.microseconds(1_001), "1ms 1us"),
    ] as [(Duration, String)])
  func text(duration: Duration, text: String) {
    #expect(TimeSpan.text(of: duration) == text)
    #expect(TimeSpan.parse(text) == duration)
  }

  @Test(
    "A rate is a count from 1 to a million in a span of at most a year",
    arguments: [
      ("10/s", "10/1s"), ("100/15min", "100/15min"), ("1/366d", "1/366d"), ("1000000/1s", "1000000/1s"), ("0/s", nil),
      ("1000001/s", nil), ("1/367d", nil), ("1/0s", nil), ("10", nil), ("/s", nil), ("1/s/s", nil),
    ] as [(String, String?)])
  func rate(text: String, again: String?) {
    let rate = RateText.parse(text)
    #expect(rate.map { RateText.text(of: $0.count, per: $0.period) } == again)
  }
}
