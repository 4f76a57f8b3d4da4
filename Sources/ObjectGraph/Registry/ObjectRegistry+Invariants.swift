extension ObjectRegistry {
  /// Traps in debug builds if objects and pending changes contradict each other; looks only while there are few.
  func assertInvariants() {
    assert(held.count > 256 || contradiction == nil, contradiction ?? "")
  }

  private var contradiction: String? {
    if touched.contains(where: { !$0.state.isSuperset(of: [.touched, .held]) }) {
      return "an object is listed as touched and does not know it"
    }
    if Set(held.map(ObjectIdentifier.init)).count != held.count { return "an object is held twice" }
    return held.lazy.compactMap(contradiction(of:)).first
  }

  private func contradiction(of object: ManagedObject) -> String? {
    if registeredObject(for: object.objectID) !== object { return "\(object) is held and not registered" }
    if !object.state.contains(.held) || object.isFault { return "\(object) is held and looks as if it were not" }
    if object.state.contains(.touched) { return nil }
    let change = pending.currentChange(of: object.objectID)
    if object.isDeleted {
      let expected: RowChange.Kind? = object.isInserted ? nil : .delete
      return change?.kind == expected ? nil : "\(object) is deleted, and pending is \(String(describing: change?.kind))"
    }
    guard let change, let row = change.row, let published = object.published else {
      return "\(object) has changes, and nothing is pending for it"
    }
    if change.isEmptyUpdate { return nil }
    if (change.kind == .insert) != object.isInserted { return "\(object) is pending as another kind of change" }
    let isSame = row.isIdentical(to: published) && row.isIdentical(to: object.row)
    return isSame ? nil : "\(object) shows other values than are pending"
  }
}
