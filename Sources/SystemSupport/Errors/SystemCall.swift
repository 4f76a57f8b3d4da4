import CLinux
import Glibc

/// Runs a system call, again when a signal interrupted it, and throws what errno said when it returned a negative number.
///
/// This is the only way this package calls the kernel: errno is read before anything else can change it.
/// Don't use it for `close`, which must not be repeated on Linux.
///
/// - Parameters:
///   - call: The call's name, for the error.
///   - subject: What it is about, built only when it fails.
///   - body: The call itself.
@discardableResult
package func systemCall<Result: SignedInteger>(
  _ call: String, _ subject: @autoclosure () -> String? = nil, _ body: () -> Result
) throws(SystemError) -> Result {
  while true {
    let result = body()
    if result >= 0 { return result }
    let code = errno
    if code != EINTR { throw SystemError(.init(rawValue: code), call: call, subject: subject()) }
  }
}

/// Runs a call that returns its error number instead of setting errno, as `posix_spawn` and the pthread calls do.
func errorReturningCall(
  _ call: String, _ subject: @autoclosure () -> String? = nil, _ body: () -> Int32
) throws(SystemError) {
  let code = body()
  if code != 0 { throw SystemError(.init(rawValue: code), call: call, subject: subject()) }
}
