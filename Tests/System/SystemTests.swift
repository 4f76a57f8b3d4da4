import Testing

/// Tests of the built programs; one after the other, so that their figures and times mean something.
@Suite("The daemon", .serialized)
enum SystemTests {}

/// The same of daemons that share a database, and that mostly wait for each other.
@Suite("The daemons of a fleet", .serialized)
enum FleetSystemTests {}
