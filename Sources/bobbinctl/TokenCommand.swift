import Configuration
import JSONText
import TextSupport

/// `bobbinctl token`: makes a token for requests over TCP.
struct TokenCommand: Subcommand {
  static let name = "token"
  static let usage = "token [--user USER] [--json] NAME ROLE"
  static let summary = "Make a token for requests over TCP"
  static let details = """
    ROLE is read, submit or control; each includes those before it. The line for the file of tokens, /etc/bobbin/tokens, goes
    to standard output; it has the hash of the token only. The token itself goes to standard error, once: nobody can find it
    out again. With --json both come as {"token": ..., "line": ...}.

      bobbinctl token ci submit | sudo tee -a /etc/bobbin/tokens && sudo systemctl reload bobbind

    The daemon's user must be able to read the file. To revoke a token, remove its line and reload. Jobs that are submitted
    with it can read and write what USER can; without one, what everybody can. The daemon is not asked.
    """
  static let options = [
    Option("--user", .required("USER"), help: "The user whose rights its jobs have")
  ]

  private let token: String
  private let role: AccessRole
  private let user: String?

  init(_ arguments: inout ParsedArguments) {
    let operands = arguments.operands
    if operands.count != 2 { arguments.addProblem("a name and a role are expected: \(Self.usage)") }
    token = operands.first ?? ""
    if !operands.isEmpty, !AccessToken.isName(token) { arguments.addProblem("NAME is \(AccessToken.nameRule)") }
    let role = operands.count == 2 ? AccessRole(rawValue: operands[1]) : .read
    if role == nil { arguments.addProblem("ROLE is read, submit or control, not \"\(operands[1])\"") }
    self.role = role ?? .read
    user = arguments["--user"]
    if let user, user.isEmpty || user.contains(where: \.isWhitespace) {
      arguments.addProblem("USER is the name or number of a user")
    }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    let (secret, entry) = AccessToken.make(token, role, user: user)
    if session.printsJSON {
      try session.output.write(
        JSONValue.object(["token": .string(secret), "line": .string(entry.line)]).serialized() + "\n")
      return .success
    }
    try session.output.write(entry.line + "\n")
    session.output.note("the token, which is shown only now: \(secret)")
    return .success
  }
}
