internal import CMicroHTTPD
import Foundation

/// A response in the library's form; it is released when this value and the last connection that sends it are done.
struct LibraryResponse: ~Copyable {
  private let handle: OpaquePointer
  private let status: UInt32

  private init(owning handle: OpaquePointer, status: UInt32) {
    self.handle = handle
    self.status = status
  }

  deinit {
    MHD_destroy_response(handle)
  }

  /// Copies a response; nil when a header field has characters that don't belong there, or without memory.
  static func make(_ response: HTTPResponse, closes: Bool) -> LibraryResponse? {
    precondition(200...599 ~= response.status, "\(response.status) is not the status of a final response")
    let handle = response.body.withUnsafeBytes { bytes in
      MHD_create_response_from_buffer(
        bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
    }
    guard let handle else { return nil }
    let message = LibraryResponse(owning: handle, status: UInt32(response.status))
    var headers = response.headers
    if headers["Cache-Control"] == nil { headers["Cache-Control"] = "no-store" }
    if headers["Content-Type"] == nil, !response.body.isEmpty { headers["Content-Type"] = "application/octet-stream" }
    if closes { headers["Connection"] = "close" }
    // The library knows the length better, and refuses a second opinion.
    headers["Content-Length"] = nil
    for field in headers.fields {
      // A C string would end at a NUL and send the rest of the value to nobody.
      let isText = !field.name.utf8.contains(0) && !field.value.utf8.contains(0)
      guard isText, MHD_add_response_header(handle, field.name, field.value) == .YES else { return nil }
    }
    return message
  }

  borrowing func queue(on connection: OpaquePointer) -> MHD_Result {
    MHD_queue_response(connection, status, handle)
  }
}
