import DaemonTesting
import Foundation
import JSONText
import SystemSupport
import TestSupport

/// A headless Chromium, spoken to by its driver; https://www.w3.org/TR/webdriver2/
final class Browser: Sendable {
  /// For `.enabled(if:)`: whether there is a browser; prints why not.
  static func isInstalled(_ test: String = #fileID) -> Bool {
    let missing = [Self.program, "/usr/bin/chromium", Self.client, PageAddress.forwarder].filter {
      !FileManager.default.isExecutableFile(atPath: $0)
    }
    return SkipReason("needs \(missing.joined(separator: ", ")); scripts/install-dependencies test installs it")
      .unless(missing.isEmpty, test)
  }

  private static let program = "/usr/bin/chromedriver"
  private static let client = "/usr/bin/curl"

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private let driver: TalkingProgram
  private let session: String

  /// Starts a browser whose window has a size, in pixels of the page.
  ///
  /// - Parameter isDark: the theme that the system is said to have.
  static func start(width: Int = 1280, isDark: Bool = false) async throws -> Browser {
    let (driver, port) = try await startDriver(attempts: 5)
    let browser = try await Browser(driver: driver, base: "http://127.0.0.1:\(port)/session")
    try await browser.set(width: width, isDark: isDark)
    return browser
  }

  /// Starts the driver, which ends if the port that it was given of IPv4 is another program's of IPv6.
  private static func startDriver(attempts: Int) async throws -> (TalkingProgram, port: String) {
    let driver = try TalkingProgram(program, ["--port=0"])
    do {
      return (driver, try await driver.find(/started successfully on port (\d+)/))
    } catch is TalkingProgram.Silence where attempts > 1 {
      return try await startDriver(attempts: attempts - 1)
    }
  }

  private init(driver: TalkingProgram, base: String) async throws {
    self.driver = driver
    // Root has no use for a sandbox of namespaces, and Chromium refuses to make one.
    let options = #"["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]"#
    let answer = try await Self.send(
      "POST", base,
      #"{"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"}, "#
        + #""goog:chromeOptions": {"args": \#(options)}}}}"#)
    guard let id = answer["sessionId"]?.string else { throw Failure(description: "no session: \(answer)") }
    session = base + "/" + id
    // What is found at once needs no waiting, and a script that waits has this long.
    _ = try await send("POST", "/timeouts", #"{"script": 120000}"#)
  }

  /// Ends the browser.
  func end() async throws {
    _ = try await send("DELETE", "", nil)
    driver.end()
  }

  func set(width: Int, isDark: Bool = false, movesLess: Bool = false) async throws {
    try await command(
      "Emulation.setDeviceMetricsOverride",
      #"{"width": \#(width), "height": 900, "deviceScaleFactor": 1, "mobile": false}"#)
    try await command(
      "Emulation.setEmulatedMedia",
      #"""
      {"features": [{"name": "prefers-color-scheme", "value": "\#(isDark ? "dark" : "light")"},
        {"name": "prefers-reduced-motion", "value": "\#(movesLess ? "reduce" : "no-preference")"}]}
      """#)
  }

  func open(_ address: String) async throws {
    _ = try await send("POST", "/url", #"{"url": \#(Self.literal(address))}"#)
  }

  func back() async throws { _ = try await send("POST", "/back", "{}") }

  /// Runs a script of the page's; returns what it returns.
  @discardableResult
  func run(_ script: String) async throws -> JSONValue {
    try await send("POST", "/execute/sync", #"{"script": \#(Self.literal(script)), "args": []}"#)
  }

  /// Waits until an expression of the page's is true, or returns its value if that is something else than nothing.
  ///
  /// It is looked at whenever the document or the address has changed.
  @discardableResult
  func wait(for expression: String) async throws -> JSONValue {
    let script = """
      const done = arguments[arguments.length - 1]
      const value = () => { try { return (\(expression)) } catch (error) { return null } }
      const observer = new MutationObserver(look)
      function look() {
        const found = value()
        if (!found) return
        observer.disconnect()
        removeEventListener('hashchange', look)
        done(found)
      }
      observer.observe(document, {subtree: true, childList: true, attributes: true, characterData: true})
      addEventListener('hashchange', look)
      look()
      """
    do {
      return try await send("POST", "/execute/async", #"{"script": \#(Self.literal(script)), "args": []}"#)
    } catch let error as Failure where error.description.contains("script timeout") {
      let text = try await run("return document.body.innerText").string ?? ""
      throw Failure(description: "never true: \(expression); the page says:\n\(text)")
    }
  }

  /// Waits until the page shows a text somewhere.
  func wait(forText text: String) async throws {
    try await wait(for: "document.body.innerText.includes(\(Self.literal(text)))")
  }

  /// Clicks on the first element of a selector, as a pointer does: what covers it gets the click.
  func click(_ selector: String) async throws {
    try await clickElement("document.querySelector(\(Self.literal(selector)))")
  }

  /// Clicks on the button, or the link, that has a text.
  func click(button text: String, in selector: String = "body") async throws {
    try await clickElement(
      """
      [...document.querySelectorAll(\(Self.literal(selector)) + ' :is(button, a)')].find(
        one => one.textContent.trim() === \(Self.literal(text)) && one.checkVisibility())
      """)
  }

  private func clickElement(_ expression: String) async throws {
    let deadline = ContinuousClock.now + .seconds(20)
    while true {
      // What has the focus or is gone to comes out from under the header.
      let element = try await wait(
        for: "(one => { one?.scrollIntoView({block: 'nearest'}); return one })(\(expression))")
      guard let id = element.object?.first(where: { $0.key.hasPrefix("element-") })?.value.string else {
        throw Failure(description: "no element: \(expression)")
      }
      do {
        _ = try await send("POST", "/element/\(id)/click", "{}")
        return
      } catch let error as Failure where error.description.contains("stale element") && ContinuousClock.now < deadline {
        // The page has put another one in its place since.
      }
    }
  }

  /// Moves the focus by the tabulator until it is at an element for which an expression of `one` is true.
  func tab(to expression: String) async throws {
    for _ in 0..<150 {
      try await type(Key.tab)
      let isThere = "const one = document.activeElement; return Boolean(\(expression))"
      if try await run(isThere).bool == true { return }
    }
    throw Failure(description: "the tabulator never comes to \(expression)")
  }

  /// Types keys where the focus is; those without a letter are named as WebDriver has them.
  ///
  /// - Parameter held: keys that are down meanwhile.
  func type(_ keys: String, holding held: String = "") async throws {
    func events(_ types: String..., of keys: String) -> [String] {
      keys.unicodeScalars.flatMap { scalar in
        types.map { #"{"type": "\#($0)", "value": \#(Self.literal(String(scalar)))}"# }
      }
    }
    let strokes = events("keyDown", of: held) + events("keyDown", "keyUp", of: keys) + events("keyUp", of: held)
    _ = try await send(
      "POST", "/actions",
      #"{"actions": [{"type": "key", "id": "keys", "actions": [\#(strokes.joined(separator: ","))]}]}"#)
  }

  /// Keys without a letter; https://www.w3.org/TR/webdriver2/#keyboard-actions
  enum Key {
    static let tab = "\u{E004}"
    static let enter = "\u{E007}"
    static let escape = "\u{E00C}"
    static let space = " "
    static let down = "\u{E015}"
    static let end = "\u{E010}"
    static let backspace = "\u{E003}"
    static let shift = "\u{E008}"
  }

  /// Sends a command of Chromium's own protocol; https://chromedevtools.github.io/devtools-protocol/
  @discardableResult
  func command(_ name: String, _ parameters: String = "{}") async throws -> JSONValue {
    try await send("POST", "/goog/cdp/execute", #"{"cmd": "\#(name)", "params": \#(parameters)}"#)
  }

  /// Errors and warnings of the console since the last look, but for answers of status 404 and the like.
  func complaints() async throws -> [String] {
    try await send("POST", "/se/log", #"{"type": "browser"}"#).array?.compactMap { entry in
      guard let level = entry["level"]?.string, let message = entry["message"]?.string,
        ["SEVERE", "WARNING"].contains(level), !message.contains("the server responded with a status of")
      else { return nil }
      return message
    } ?? []
  }

  // MARK: The driver

  private func send(_ method: String, _ path: String, _ body: String?) async throws -> JSONValue {
    try await Self.send(method, session + path, body)
  }

  /// Sends a request by curl: the driver's header fields are more than Foundation reads on Linux.
  private static func send(_ method: String, _ address: String, _ body: String?) async throws -> JSONValue {
    let data = body == nil ? [] : ["--data-binary", "@-", "-H", "Content-Type: application/json"]
    let curl = try await Tool.run(
      Self.client, ["-sS", "--max-time", "150", "-X", method] + data + [address], input: body ?? "", seconds: 180)
    guard curl.code == 0 else { throw Failure(description: "the browser's driver does not answer: \(curl.errors)") }
    let answer = try JSONValue(parsing: Array(curl.output.utf8), dialect: .json)["value"] ?? .null
    // A page has no objects with these two keys.
    if let error = answer["error"]?.string, answer["stacktrace"] != nil {
      throw Failure(description: "\(error): \(answer["message"]?.string ?? "")")
    }
    return answer
  }

  /// A text as a literal of JSON, which is one of JavaScript, too.
  static func literal(_ text: String) -> String { JSONValue.string(text).serialized() }
}
