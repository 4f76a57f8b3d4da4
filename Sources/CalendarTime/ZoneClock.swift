/// Turns a zone's civil times into moments as the C library's `mktime` does, which systemd relies on.
///
/// Where a clock is put back, an hour occurs twice; where it is put forward, an hour is missing. Then the answer depends
/// on the offset that was used last, so that a search which comes from daylight saving time stays in it. This is why the
/// clock is a value with a memory: a search begins with a new one.
struct ZoneClock {
  private let zone: ZoneInfo
  /// The offset of the last answer, the first guess for the next.
  private var lastOffset: Int64

  /// A clock whose memory begins at a moment, in seconds since 1970.
  init(_ zone: ZoneInfo, at moment: Int64) {
    self.zone = zone
    lastOffset = Int64(zone.offset(at: moment).seconds)
  }

  /// The civil time at a moment, in seconds since 1970.
  func civil(at moment: Int64) -> CivilTime {
    CivilTime(secondsAsUTC: moment + Int64(zone.offset(at: moment).seconds))
  }

  /// The moment of a civil time, in seconds since 1970.
  ///
  /// - Parameter daylight: True for daylight saving time, false for standard time, nil for whichever is in force.
  mutating func moment(of civil: CivilTime, daylight: Bool?) -> Int64 {
    // Seconds that are too many are counted after the rest is known: they may lead over a change.
    var minute = civil
    minute.second = min(max(civil.second, 0), 59)
    let wanted = minute.secondsAsUTC
    let found = nearest(to: wanted, daylight: daylight)
    lastOffset = wanted - found
    return found + Int64(civil.second - minute.second)
  }

  /// The moment at which the zone shows `wanted`, found by trying one offset after the other.
  private func nearest(to wanted: Int64, daylight: Bool?) -> Int64 {
    var guess = wanted - lastOffset
    var (previous, beforePrevious) = (guess, guess)
    var previousIsDaylight = false
    // Offsets near one moment are few; the bound is glibc's.
    for _ in 0..<6 {
      let offset = zone.offset(at: guess)
      let error = wanted - (guess + Int64(offset.seconds))
      if error == 0 { return daylight.map { adjusted(guess, to: $0, wanted: wanted) } ?? guess }
      // Going back and forth means that the time is missing. Either side is as good; that of daylight saving time is
      // preferred, or the one that was not asked for, since it was the wish that led into the gap.
      if guess == beforePrevious && guess != previous {
        let isPreferred =
          daylight.map { $0 != offset.isDaylightSaving } ?? (offset.isDaylightSaving || !previousIsDaylight)
        if isPreferred { return guess }
      }
      (beforePrevious, previous) = (previous, guess)
      previousIsDaylight = offset.isDaylightSaving
      guess += error
    }
    return guess
  }

  /// The moment with the offset that the zone has nearby for the kind of time that was asked for.
  private func adjusted(_ moment: Int64, to daylight: Bool, wanted: Int64) -> Int64 {
    if zone.offset(at: moment).isDaylightSaving == daylight { return moment }
    // A week less an hour at a time, for some eight years: no zone keeps one kind of time for shorter.
    for distance in stride(from: Int64(601_200), through: 268_828_200, by: 601_200) {
      for other in [moment - distance, moment + distance] {
        let found = zone.offset(at: other)
        if found.isDaylightSaving == daylight { return wanted - Int64(found.seconds) }
      }
    }
    return moment
  }
}
