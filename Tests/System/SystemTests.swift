import Testing

/// Tests of the built programs; one after the other, so that few daemons run at a time.
@Suite("The daemon", .serialized)
enum SystemTests {}

/// Tests of daemons that share a database: one after the other, but beside those of single hosts, since they mostly wait.
@Suite("The daemons of a fleet", .serialized)
enum FleetSystemTests {}
