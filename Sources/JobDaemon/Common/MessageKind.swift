/// The kinds of messages that operators act on, by the ID that the journal has for each; it must never change.
///
/// `systemd/bobbin.catalog` explains each, for `journalctl -x`.
package enum MessageKind: String, CaseIterable, Sendable {
  // Jobs; those that need nobody share an ID.
  case job = "5f0e0a4c6d7b4c0f9d43bb1d8be0b4c1"
  case jobDiscarded = "1aab8e7e27334737ab3ef2993e11c55c"
  case jobQuarantined = "090658c0bdd94e07a453079313d847db"
  case typeHeld = "52c272f887e6448ab9fac8efa643c32e"
  case typeGoesOn = "486e08fbb36741c68bc0eebad1f4c72a"
  case leftoversKilled = "2e99440753f14e6da03de10922f920f0"

  // What comes in.
  case fileRefused = "100ac7e8e33a40fe946c8bb3b2c1d480"
  case spoolGone = "4ca440fb2f884dd9a929425d6f62bfd0"
  case scheduleMissed = "fdcd7e26baea465ea29fe8dc00e8edd1"
  case scheduleRefused = "1ce52184d7ba451a99631e5f6c14a3ca"
  case folderTroubled = "74a386111be64edb94ef445bf714b7b3"

  // The store and the fleet.
  case storeUnwritable = "86719613d8c34fb3a3a2e9065288e67a"
  case storeWritable = "d5372cccac1e4011b02d80195ba2e853"
  case storeFailed = "cc3b6d6856fe4cda806856e6a1e8f8d3"
  case storeNotOpened = "838240da20914e6fb493c3f60fc3e183"
  case copyFailed = "eabdfe7741234c52975d96e4ba912cdf"
  case fenced = "930b9e4a7bb643c7b966ee7b82fbe2a1"
  case fleetDatabaseAway = "0a957c43aa094f4aa1dafa19fd0cf2e1"

  // The configuration, and who may change what.
  case configurationRefused = "a9c5bb0a83fb4d39a8e42492a1111914"
  case modelsRefused = "3c03ce3cc14e4dfe9f81932596704ab0"
  case changeAsked = "749f0415cdbe4d1db8964c577b45813f"
  case wrongToken = "d660ac731bb345ba8b820737f3ed0248"
}
