/// Remembers what was done, so that it can be taken back and done again; a context records its changes with one.
///
/// Set it as the context's ``ManagedObjectContext/undoManager`` and use it on that context's executor only. What is
/// recorded between two ends of events is one group, and one ``undo()`` takes one group back. An event ends with each
/// outermost `perform`, with `processPendingChanges()` and with a save.
public final class UndoManager {
  private struct Action {
    let target: ObjectIdentifier
    let run: () -> Void
  }

  private struct Group {
    var name = ""
    var actions: [Action] = []
  }

  private enum Work {
    case none
    case undoing
    case redoing
  }

  private var undoGroups: [Group] = []
  private var redoGroups: [Group] = []
  /// The groups that are being recorded, each inside of the one before.
  private var openGroups: [Group] = []
  /// Whether the outermost open group is that of an event, which ends by itself.
  private var isInEventGroup = false
  private var disableCount = 0
  private var work = Work.none
  /// What is run before groups begin and end, so that changes that were made until then are recorded in the right one.
  private var checkpoints: [ObjectIdentifier: () -> Void] = [:]

  /// Whether what is recorded outside of explicit groups is grouped by event; true by default.
  ///
  /// If false, recording without a group is a programmer's error and traps.
  public var groupsByEvent = true

  /// How many groups to remember, the oldest being forgotten first; 0 for no limit, which is the default.
  public var levelsOfUndo = 0 {
    didSet { forgetOldest() }
  }

  /// A manager that has recorded nothing.
  public init() {}

  // MARK: Undoing

  /// Takes the last group back; does nothing if there is none.
  ///
  /// An open group is ended first; more than one is a programmer's error and traps.
  public func undo() {
    finishOpenGroup()
    guard let group = undoGroups.popLast() else { return }
    run(group, as: .undoing)
  }

  /// Does again what the last ``undo()`` took back; does nothing if something else was recorded since.
  public func redo() {
    finishOpenGroup()
    guard let group = redoGroups.popLast() else { return }
    run(group, as: .redoing)
  }

  /// Whether there is something to take back.
  public var canUndo: Bool {
    checkpoint()
    return !undoGroups.isEmpty || openGroups.contains { !$0.actions.isEmpty }
  }

  /// Whether there is something to do again.
  public var canRedo: Bool {
    checkpoint()
    return !redoGroups.isEmpty
  }

  /// Whether ``undo()`` is under way.
  public var isUndoing: Bool { work == .undoing }
  /// Whether ``redo()`` is under way.
  public var isRedoing: Bool { work == .redoing }

  private func finishOpenGroup() {
    precondition(work == .none, "undo and redo can't be called while one of them is under way")
    checkpoint()
    precondition(openGroups.count <= 1, "\(openGroups.count) undo groups are open; end them before undo or redo")
    if !openGroups.isEmpty { close() }
  }

  private func run(_ group: Group, as work: Work) {
    self.work = work
    openGroups = [Group(name: group.name)]
    for action in group.actions.reversed() { action.run() }
    close()
    self.work = .none
  }

  // MARK: Recording

  /// Records how to take something back that the contexts don't know of.
  ///
  /// The handler runs at the undo; what it registers is the redo. The target is kept until the action is forgotten.
  public func registerUndo<Target: AnyObject>(withTarget target: Target, handler: @escaping (Target) -> Void) {
    checkpoint()
    register(for: target) { handler(target) }
  }

  /// Records an action of a target that is held by nobody here.
  func register(for target: AnyObject, _ run: @escaping () -> Void) {
    guard isUndoRegistrationEnabled else { return }
    if openGroups.isEmpty {
      precondition(groupsByEvent, "something is to be undone, and no undo group has begun")
      openGroups.append(Group())
      isInEventGroup = true
    }
    openGroups[openGroups.count - 1].actions.append(Action(target: ObjectIdentifier(target), run: run))
    if work == .none { redoGroups = [] }
  }

  /// Whether changes are recorded.
  public var isUndoRegistrationEnabled: Bool { disableCount == 0 }

  /// Records nothing of what follows, until ``enableUndoRegistration()`` was called as often.
  public func disableUndoRegistration() {
    checkpoint()
    disableCount += 1
  }

  /// Ends a ``disableUndoRegistration()``.
  public func enableUndoRegistration() {
    precondition(disableCount > 0, "recording was enabled more often than it was disabled")
    checkpoint()
    disableCount -= 1
  }

  /// Forgets everything; open groups stay open.
  public func removeAllActions() {
    undoGroups = []
    redoGroups = []
    for index in openGroups.indices { openGroups[index].actions = [] }
  }

  /// Forgets what was recorded for a target.
  public func removeAllActions(withTarget target: AnyObject) {
    let isOther: (Action) -> Bool = { $0.target != ObjectIdentifier(target) }
    func rest(_ groups: [Group]) -> [Group] {
      groups.map { Group(name: $0.name, actions: $0.actions.filter(isOther)) }
    }
    undoGroups = rest(undoGroups).filter { !$0.actions.isEmpty }
    redoGroups = rest(redoGroups).filter { !$0.actions.isEmpty }
    openGroups = rest(openGroups)
  }

  // MARK: Groups

  /// How many groups are open, that of the event included.
  public var groupingLevel: Int { openGroups.count }

  /// Begins a group, which one undo takes back as a whole; groups inside of others become part of them.
  public func beginUndoGrouping() {
    checkpoint()
    endEvent()
    openGroups.append(Group())
  }

  /// Ends the group that was begun last.
  public func endUndoGrouping() {
    precondition(openGroups.count > (isInEventGroup ? 1 : 0), "no undo group has begun")
    checkpoint()
    close()
  }

  /// Ends the group of an event, if there is one.
  func endEvent() {
    if isInEventGroup && openGroups.count == 1 && work == .none { close() }
  }

  private func close() {
    let group = openGroups.removeLast()
    if !openGroups.isEmpty {
      openGroups[openGroups.count - 1].actions += group.actions
      if !group.name.isEmpty { openGroups[openGroups.count - 1].name = group.name }
      return
    }
    isInEventGroup = false
    if group.actions.isEmpty { return }
    if work == .undoing { redoGroups.append(group) } else { undoGroups.append(group) }
    forgetOldest()
  }

  private func forgetOldest() {
    guard levelsOfUndo > 0 else { return }
    undoGroups.removeFirst(max(0, undoGroups.count - levelsOfUndo))
    redoGroups.removeFirst(max(0, redoGroups.count - levelsOfUndo))
  }

  // MARK: Names

  /// Names the group that is open, or else the last one, for a menu.
  public func setActionName(_ name: String) {
    checkpoint()
    if !openGroups.isEmpty {
      openGroups[openGroups.count - 1].name = name
    } else if !undoGroups.isEmpty {
      undoGroups[undoGroups.count - 1].name = name
    }
  }

  /// What ``undo()`` would take back, or an empty text.
  public var undoActionName: String { openGroups.first?.name ?? undoGroups.last?.name ?? "" }

  /// What ``redo()`` would do again, or an empty text.
  public var redoActionName: String { redoGroups.last?.name ?? "" }

  // MARK: Checkpoints

  /// Runs something before groups begin and end, for as long as the owner does not take it back with nil.
  func setCheckpoint(of owner: AnyObject, _ body: (() -> Void)?) { checkpoints[ObjectIdentifier(owner)] = body }

  private func checkpoint() {
    if work == .none { checkpoints.values.forEach { $0() } }
  }
}
