/// One job's place among those that may work at the same time; it can be left and taken again.
final class PoolPlace {
  var isTaken = false
}
