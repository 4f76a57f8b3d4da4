// The target of scripts/fuzz-jobs, compiled together with the sources that it tests.
import Foundation
import JSONText

/// What libFuzzer calls with each input: a job file is read or refused, and what the store keeps of its jobs reads the
/// same again.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJobs(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let data = Data(buffer: UnsafeBufferPointer(start: start, count: count))
  let file: JobFile
  do throws(JobFileError) { file = try JobFile(data) } catch {
    // Whoever is told so must be able to show it on one line.
    precondition(!error.description.isEmpty)
    return 0
  }
  precondition(!file.jobs.isEmpty && file.jobs.count <= JobFileReader.jobLimit + 1)
  for job in file.jobs {
    var again = JobSpecification(type: job.type, id: job.id)
    do throws(JobFileError) {
      if let options = job.options { try again.readOptions(options) }
    } catch {
      fatalError("what was kept can't be read again: \(error); \(job.options ?? "")")
    }
    precondition(again.timeout == job.timeout, "the timeout reads otherwise: \(job.options ?? "")")
    precondition(again.backoff == job.backoff, "the backoff reads otherwise: \(job.options ?? "")")
    precondition(again.limit == job.limit, "the limit reads otherwise: \(job.options ?? "")")
    precondition(again.after == job.after && again.afterAny == job.afterAny && again.unique == job.unique)
    let text = job.arguments.serialized()
    guard let value = try? JSONValue(parsing: Array(text.utf8), dialect: .json) else {
      fatalError("the arguments can't be read again: \(text)")
    }
    precondition(value == job.arguments, "the arguments read otherwise: \(text)")
  }
  return 0
}
