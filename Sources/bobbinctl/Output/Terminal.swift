import Foundation
internal import Glibc

/// The width and colours of the terminal that text goes to, if it goes to one.
struct Terminal {
  /// Nil when it is not a terminal, or one that doesn't tell.
  let width: Int?
  let isTerminal: Bool
  /// Colour is for terminals that know it and users who don't mind (no-color.org).
  let usesColor: Bool

  init(descriptor: Int32, environment: [String: String] = ProcessInfo.processInfo.environment) {
    isTerminal = isatty(descriptor) == 1
    var size = winsize()
    let isKnown = isTerminal && ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    width = isKnown ? Int(size.ws_col) : nil
    usesColor = isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
  }
}
