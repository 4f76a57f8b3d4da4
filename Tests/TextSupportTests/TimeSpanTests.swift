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
}
