extension DelimitedReader {
  /// Takes the next block of the input.
  ///
  /// Fields handed out before are no longer valid. A record that began in the block before is moved to the front.
  /// - Parameter read: writes the next bytes of the input to the front of the memory given and returns their number; 0
  ///   at the end.
  /// - Throws: what `read` throws; the reader is unchanged then, and may be filled again.
  package mutating func fill<Failure: Error>(
    _ read: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
  ) throws(Failure) {
    guard !inputHasEnded else { return }
    makeRoom()
    let count = try read(UnsafeMutableRawBufferPointer(start: bytes + end, count: blockSize))
    precondition(count >= 0 && count <= blockSize, "the number of bytes read is not within the memory given")
    cursor.restart(at: cursor.resumeIndex(end: end))
    end += count
    inputHasEnded = count == 0
  }

  /// Makes the memory after `end` at least one block long.
  private mutating func makeRoom() {
    // One byte before the cursor is kept too: a line feed inside quotes looks back for its carriage return.
    let unread = cursor.resumeIndex(end: end)
    let keep: Int
    switch mode {
    case .betweenRecords: keep = nextStart
    case .comment: keep = unread
    case .unquoted, .quoted: keep = isDiscarding ? max(unread - 1, 0) : recordStart
    }
    let kept = end - keep
    if kept + blockSize > capacity {
      // Twice what is needed, so that a long record is copied a few times only, however small the blocks are.
      let newCapacity = 2 * (kept + blockSize)
      let larger = Self.allocateBytes(newCapacity)
      larger.update(from: bytes + keep, count: kept)
      bytes.deallocate()
      bytes = larger
      capacity = newCapacity
    } else if keep > 0, end + blockSize > capacity || kept == 0 {
      bytes.update(from: bytes + keep, count: kept)
    } else {
      return
    }
    cursor.restart(at: unread - keep)
    inputOffset += keep
    end -= keep
    recordStart -= keep
    recordEnd -= keep
    nextStart -= keep
    fieldStart -= keep
    closingQuote = closingQuote < 0 ? -1 : closingQuote - keep
    quoteIndex -= keep
  }
}
