import Foundation
import Jobs
import SystemSupport

/// The program of an attempt as a child process, with what it writes to standard output and standard error.
final class ProgramProcess: ProgramPeer {
  private let launch: ProcessLaunch
  private let output: PipeReader
  /// Waits for the child's end; once it is cancelled, ends the child with its group.
  private let watch: Task<Termination, any Error>
  /// Copies standard error to the log.
  private let logging: Task<Void, Never>

  /// Starts the program.
  ///
  /// - Throws: ``HostFault`` if it can't be executed.
  init(_ launch: ProcessLaunch, _ document: JobDocument, log: AttemptLog) throws {
    self.launch = launch
    let (child, output, errors) = try Self.start(launch.launch(for: document), document)
    self.output = output
    watch = Self.watch(child, output: output, errors: errors, grace: launch.definition.killGrace)
    logging = Task(executorPreference: WorkQueues.tasks) {
      while let bytes = await errors.next() { log.append(bytes) }
    }
  }

  private static func start(
    _ launch: ChildLaunch, _ document: JobDocument
  ) throws -> (child: ChildProcess, output: PipeReader, errors: PipeReader) {
    var launch = launch
    do throws(SystemError) {
      // A file, not a pipe: it needs no feeding, and a program that reads none of it blocks nothing.
      let input = try FileDescriptor.inMemory(named: "job")
      try input.writeAll(Data(document.bytes))
      let source = try FileDescriptor.open("/proc/self/fd/\(input.number)")
      let output = try FileDescriptor.pipe()
      let errors = try FileDescriptor.pipe()
      launch.descriptors = [0: source.number, 1: output.second.number, 2: errors.second.number]
      let child = try ChildProcess.start(launch)
      // The child has its own copies of the writing ends; ours go here, so that the pipes can end.
      return (
        child, try output.split { (ours, _) throws(SystemError) in try PipeReader(ours) },
        try errors.split { (ours, _) throws(SystemError) in try PipeReader(ours) }
      )
    } catch {
      let words = "the program \(displayName(launch.executable)) can't be started: \(launch.explaining(error))"
      // What the job itself has put into the command is too long, or can't be there.
      let isOfJob = error.code == .argumentsTooLong || error.code == .invalidArgument
      if !isOfJob, !error.isShortage { throw HostFault(words) }
      var failure = JobFailure(words, isPermanent: false)
      failure.isShortage = error.isShortage
      throw failure
    }
  }

  private static func watch(
    _ child: ChildProcess, output: PipeReader, errors: PipeReader, grace: Duration
  ) -> Task<Termination, any Error> {
    Task(executorPreference: WorkQueues.tasks) {
      // What the child wrote is in the pipes by then.
      defer {
        output.finish()
        errors.finish()
      }
      do { return try await child.termination() } catch is CancellationError {}
      // A task of its own, as a cancelled one waits for nothing.
      let end = Task(executorPreference: WorkQueues.tasks) { try await child.stop(grace: grace) }
      return try await end.value
    }
  }

  func next() async -> [UInt8]? { await output.next() }

  func stop() { watch.cancel() }

  var isStopped: Bool { watch.isCancelled }

  func end() async throws -> any ProgramEnd {
    let outcome = await watch.result
    await logging.value
    do { return ProcessEnd(definition: launch.definition, termination: try outcome.get()) } catch {
      throw JobFailure(
        "the program \(displayName(launch.definition.command.executable)) can't be ended: \(error)", isPermanent: false
      )
    }
  }
}
