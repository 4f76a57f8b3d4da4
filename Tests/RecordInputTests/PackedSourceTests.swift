import Foundation
import RecordInput
import TestSupport
import Testing

@Suite("Packed inputs")
struct PackedSourceTests {
  private static let text = "number,square\n" + (0..<5_000).map { "\($0),\($0 * $0)\n" }.joined()

  @Test(
    "gzip and zstd are unpacked, whatever the format inside",
    arguments: ["gzip -c", "gzip -1c", "zstd -c", "zstd -19 -c --long=24", "zstd -c --no-check"])
  func unpacking(command: String) async throws {
    for text in [Self.text, "[{\"a\":1}]", "{\"a\":1}\n{\"a\":2}\n", ""] {
      let source = try openSource(try await packed(text.utf8, command))
      #expect(source.form.compression == (command.hasPrefix("gzip") ? .gzip : .zstd))
      #expect(Reading(source) == (try read(text)))
    }
  }

  @Test("What unpacks to more than is allowed is refused there", arguments: ["gzip -c", "zstd -c"])
  func limit(command: String) async throws {
    let text = "a\n" + String(repeating: "1\n", count: 3_000_000)
    let bytes = try await packed(text.utf8, command)
    for (limit, isRead) in [(text.utf8.count, true), (text.utf8.count - 1, false)] {
      let reading = Reading(try openSource(bytes) { $0.maxUnpackedSize = limit })
      #expect((reading.failure == nil) == isRead)
      if !isRead { #expect(reading.failure?.description.contains("it unpacks to more than \(limit) bytes") == true) }
    }
    #expect(Reading(try openSource("a\n1\n".utf8) { $0.maxUnpackedSize = 1 }).failure == nil)
  }

  @Test("Members and frames one after the other are one text", arguments: ["gzip -c", "zstd -c"])
  func members(command: String) async throws {
    var bytes: [UInt8] = []
    for part in ["a,b\n1,", "2\n", "", "3,4\n"] { bytes += try await packed(part.utf8, command) }
    if command.hasPrefix("gzip") { bytes += [UInt8](repeating: 0, count: 512) }
    #expect(try read(bytes).rows == [["1", "2"], ["3", "4"]])
  }

  @Test("An archive that was cut off is told, after its records", arguments: ["gzip -c", "zstd -c"])
  func truncated(command: String) async throws {
    let bytes = try await packed("a,b\n1,2\n3,4\n".utf8, command)
    let compression = command.hasPrefix("gzip") ? Compression.gzip : .zstd
    for count in 1..<bytes.count {
      var failure: InputError?
      do throws(InputError) {
        failure = try openForError(Array(bytes[..<count]), compression)
      } catch {
        failure = error
      }
      #expect(failure?.description.contains("cut off") == true, "\(count) of \(bytes.count)")
    }
  }

  private func openForError(_ bytes: [UInt8], _ compression: Compression) throws(InputError) -> InputError? {
    do { return Reading(try openSource(bytes) { $0.compression = compression }).failure } catch let error as InputError
    {
      throw error
    } catch {
      Issue.record(error)
      return nil
    }
  }

  @Test("A damaged archive is told, and nothing else happens", arguments: ["gzip -c", "zstd -c"])
  func damaged(command: String) async throws {
    let bytes = try await packed(Self.text.utf8, command)
    let compression = command.hasPrefix("gzip") ? Compression.gzip : .zstd
    let sound = try read(bytes)
    for index in stride(from: 4, to: bytes.count, by: max(bytes.count / 200, 1)) {
      var damaged = bytes
      damaged[index] ^= 0x55
      do {
        let result = try read(damaged) { $0.compression = compression }
        // Some bytes mean nothing, as the time in a header.
        if result.failure == nil { #expect(result == sound, "byte \(index)") }
      } catch let error as InputError {
        #expect(!error.description.isEmpty)
      }
    }
  }

  @Test("A small file that unpacks to a huge one is read in little memory")
  func bomb() async throws {
    let command = "(echo a,b; head -c 300000000 /dev/zero | tr '\\0' 'x'; echo; echo 1,2) | gzip -1c"
    let result = try read(try await packed([], command)) { $0.maxRecordSize = 1 << 16 }
    #expect(result.rows == [["1", "2"]])
    #expect(result.rules == ["recordTooLarge"])
  }

  @Test("Progress through an archive is that through the file")
  func progress() async throws {
    let bytes = try await packed(Self.text.utf8, "gzip -c")
    let source = try openSource(bytes)
    _ = Reading(source)
    #expect(source.fileOffset == bytes.count)
  }
}
