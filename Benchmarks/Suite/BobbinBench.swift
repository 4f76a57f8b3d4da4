import Foundation

/// The performance suite: prints a table and writes `Benchmarks/results/latest.json`.
@main
struct BobbinBench {
  static func main() async {
    let options: Options
    do throws(BenchError) {
      options = try Options(Array(CommandLine.arguments.dropFirst()))
    } catch {
      fail(error, code: 64)
    }
    if options.showsHelp {
      print(Options.help)
      return
    }
    do {
      if let own = options.ownProcessRun { return try await own.run.run(count: own.count, in: own.folder) }
      let report = try await Suite(options).run(writingTo: "Benchmarks/results/latest.json")
      print(report.table)
      exit(report.allHold ? 0 : 1)
    } catch {
      fail(error, code: 70)
    }
  }

  private static func fail(_ error: any Error, code: Int32) -> Never {
    FileHandle.standardError.write(Data("bobbin-bench: \(error)\n".utf8))
    exit(code)
  }
}
