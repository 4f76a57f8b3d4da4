import Foundation
import ObjectModel

func say(_ message: String) { FileHandle.standardError.write(Data((message + "\n").utf8)) }

// Exit codes are those of sysexits.h: 64 usage, 65 a fault in the model, 73 the output can't be written.
func stop(_ message: String, exitCode: Int32) -> Never {
  say(message)
  exit(exitCode)
}

do {
  let options = try Options(Array(CommandLine.arguments.dropFirst()))
  let source = try ModelSource(bundle: options.input, access: options.access)
  for warning in source.warnings { say(Diagnostic(.warning, warning).text) }
  try GeneratedFile(options.output).write(source.text)
} catch let error as Options.UsageError {
  stop("ModelCompiler: error: \(error.message)\n\(Options.usage)", exitCode: 64)
} catch let error as ModelError {
  stop(Diagnostic(.error, error).text, exitCode: 65)
} catch {
  stop("ModelCompiler: error: the output can't be written: \(error.localizedDescription)", exitCode: 73)
}
