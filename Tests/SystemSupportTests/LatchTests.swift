import Dispatch
import Foundation
import SystemSupport
import Testing

@Suite("Latches")
struct LatchTests {
  @Test("Whoever waits goes on when it is opened, before and after, and how often it is opened does not matter")
  func opened() {
    let latch = Latch()
    #expect(!latch.wait(for: .milliseconds(1)))
    Thread.detachNewThread { latch.open() }
    #expect(latch.wait(for: .seconds(60)))
    latch.open()
    #expect(latch.wait(for: .zero))
  }

  @Test("One that nobody opens ends without harm")
  func dropped() {
    #expect(!Latch().wait(until: .now()))
  }
}
