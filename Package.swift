// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]

/// A program that shows the library, with a model of its own.
func example(_ name: String) -> Target {
  .executableTarget(
    name: name, dependencies: ["ObjectGraph"], path: "Examples/\(name)",
    swiftSettings: strict, plugins: ["CompileModel"])
}

let package = Package(
  name: "bobbin",
  products: [
    .library(name: "ObjectGraph", targets: ["ObjectGraph"]),
    .library(name: "ObjectGraphTesting", targets: ["ObjectGraphTesting"]),
    .library(name: "BobbinDaemon", targets: ["BobbinDaemon"]),
    .plugin(name: "CompileModel", targets: ["CompileModel"]),
    .executable(name: "bobbind", targets: ["bobbind"]),
    .executable(name: "bobbinctl", targets: ["bobbinctl"]),
    .executable(name: "bobbin-image", targets: ["bobbin-image"]),
  ],
  targets: [
    // Calls that Swift can't make: in a child before it runs, in a signal's handler, with macros and variable arguments.
    .target(name: "CLinux"),
    // The names of this build, as "make build" gives them.
    .target(
      name: "CRelease",
      cSettings: ["BOBBIN_COMMIT", "BOBBIN_BUILD"].compactMap { name in
        Context.environment[name].map { .define(name, to: "\"\($0)\"") }
      }),

    // C libraries from Debian: a module map and a shim each, nothing else.
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    .systemLibrary(name: "CMicroHTTPD", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
    // GLib's flags are all that the headers of vips need; vips.pc adds -pthread, which SwiftPM refuses with a warning.
    .systemLibrary(name: "CVIPS", pkgConfig: "gobject-2.0", providers: [.apt(["libvips-dev"])]),
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
    .systemLibrary(name: "CInih", pkgConfig: "inih", providers: [.apt(["libinih-dev"])]),

    // What messages of several modules need.
    .target(name: "TextSupport", swiftSettings: strict),

    // The object graph.
    .target(name: "ObjectModel", dependencies: ["TextSupport"], swiftSettings: strict),
    // What a store has to know, and contexts as well: rows, changes, conditions, and the protocols of a store.
    .target(name: "StoreInterface", dependencies: ["ObjectModel", "TextSupport"], swiftSettings: strict),
    .target(name: "SQLGeneration", dependencies: ["ObjectModel", "StoreInterface"], swiftSettings: strict),
    .target(
      name: "SQLiteStore", dependencies: ["CSQLite", "ObjectModel", "SQLGeneration", "StoreInterface"],
      swiftSettings: strict),
    .target(
      name: "PostgresStore", dependencies: ["CPostgres", "ObjectModel", "SQLGeneration", "StoreInterface"],
      swiftSettings: strict),
    // Copies a store from one database to another, and compares two; needs no contexts.
    .target(
      name: "StoreCopy",
      dependencies: [
        "JSONText", "PostgresStore", "SQLGeneration", "SQLiteStore", "StoreInterface", "SystemSupport",
      ],
      swiftSettings: strict),
    // Contexts and objects; passes on what users need of the modules beneath it.
    .target(
      name: "ObjectGraph",
      dependencies: ["CLinux", "ObjectModel", "PostgresStore", "SQLiteStore", "StoreInterface", "TextSupport"],
      swiftSettings: strict),
    // What tests of programs that use the object graph need, ours among them.
    .target(
      name: "ObjectGraphTesting", dependencies: ["ObjectModel", "ObjectGraph", "SQLiteStore"], swiftSettings: strict),
    .executableTarget(name: "ModelCompiler", dependencies: ["ObjectModel", "TextSupport"], swiftSettings: strict),
    .plugin(name: "CompileModel", capability: .buildTool(), dependencies: ["ModelCompiler"]),

    // The daemon.
    .target(name: "SystemSupport", dependencies: ["CCrypto", "CLinux", "CRelease", "CSystemd"], swiftSettings: strict),
    .target(name: "HTTPService", dependencies: ["CMicroHTTPD", "CZlib", "SystemSupport"], swiftSettings: strict),
    .target(name: "ImageProtocol", swiftSettings: strict),
    .target(
      name: "Jobs", dependencies: ["JSONText", "TextSupport", "ObjectModel", "ObjectGraph", "SystemSupport"],
      swiftSettings: strict, plugins: ["CompileModel"]),
    .target(name: "DelimitedText", swiftSettings: strict),
    // When repeating events are due, as systemd.time(7) writes them.
    .target(name: "CalendarTime", swiftSettings: strict),
    // Which schedule fires when, as a value: no clock, thread or store.
    .target(name: "Timetable", dependencies: ["CalendarTime"], swiftSettings: strict),
    .target(name: "JSONText", swiftSettings: strict),
    // Records of files, however they are written, encoded and packed.
    .target(
      name: "RecordInput",
      dependencies: ["CLinux", "CZlib", "CZstd", "DelimitedText", "JSONText", "SystemSupport"], swiftSettings: strict),
    .target(
      name: "Configuration", dependencies: ["CCrypto", "CInih", "CalendarTime", "TextSupport", "Timetable"],
      swiftSettings: strict),
    // Which job is next, as a value: no clock, thread or store.
    .target(name: "JobSchedule", dependencies: ["Jobs", "ObjectGraph", "SystemSupport"], swiftSettings: strict),
    // The hosts of a fleet and their lead, as values, and what they ask of the database that they share.
    .target(name: "Fleet", dependencies: ["JSONText", "JobSchedule", "Jobs", "ObjectGraph"], swiftSettings: strict),
    // The fleet's ledger in a PostgreSQL database, in the schema of the store.
    .target(
      name: "PostgresFleet",
      dependencies: [
        "Fleet", "JSONText", "JobSchedule", "Jobs", "ObjectModel", "PostgresStore", "SQLGeneration", "StoreInterface",
        "SystemSupport", "TextSupport",
      ], swiftSettings: strict),
    .target(
      name: "JobDaemon",
      dependencies: [
        "Configuration", "Fleet", "JSONText", "TextSupport", "ObjectGraph", "PostgresFleet", "PostgresStore",
        "JobSchedule",
        "Jobs", "StatusPage", "StatusReplies", "SystemSupport", "HTTPService", "Timetable",
      ],
      swiftSettings: strict),
    // A target for each built-in handler; the daemon's core knows none of them.
    .target(
      name: "ImportHandler",
      dependencies: [
        "Configuration", "DelimitedText", "JSONText", "Jobs", "ObjectGraph", "ObjectModel", "RecordInput",
        "SystemSupport", "TextSupport",
      ],
      swiftSettings: strict),
    .target(
      name: "ImageHandler",
      dependencies: [
        "Configuration", "ImageProtocol", "JSONText", "Jobs", "ObjectGraph", "SystemSupport", "TextSupport",
      ],
      swiftSettings: strict),
    .target(
      name: "ProgramHandler",
      dependencies: [
        "Configuration", "DelimitedText", "JSONText", "Jobs", "ObjectGraph", "ObjectModel", "SystemSupport",
        "TextSupport",
      ],
      swiftSettings: strict),
    // What programs with handlers of their own are made of; bobbind is the one without any.
    .target(
      name: "BobbinDaemon",
      dependencies: [
        "Configuration", "HTTPService", "ImageHandler", "ImportHandler", "JSONText", "Jobs", "JobDaemon",
        "ObjectModel", "ObjectGraph", "PostgresFleet", "PostgresStore", "ProgramHandler", "SQLiteStore",
        "SystemSupport", "TextSupport",
      ],
      swiftSettings: strict),
    .executableTarget(name: "bobbind", dependencies: ["BobbinDaemon"], swiftSettings: strict),
    .target(name: "ControlClient", dependencies: ["CCurl"], swiftSettings: strict),
    // The page for browsers, with its files in the code.
    .executableTarget(name: "PageEmbedder", swiftSettings: strict),
    .plugin(name: "EmbedPage", capability: .buildTool(), dependencies: ["PageEmbedder"]),
    .target(
      name: "StatusPage", dependencies: ["CZlib"], exclude: ["Files"], swiftSettings: strict, plugins: ["EmbedPage"]),
    // The replies of the status interface, as the daemon writes and its clients read them.
    .target(name: "StatusReplies", dependencies: ["JSONText", "TextSupport"], swiftSettings: strict),
    // Examines spool and store from outside the daemon.
    .target(name: "Doctor", dependencies: ["CSQLite", "JSONText", "SystemSupport"], swiftSettings: strict),
    .executableTarget(
      name: "bobbinctl",
      dependencies: [
        "Configuration", "ControlClient", "DelimitedText", "Doctor", "JSONText", "Jobs", "ObjectModel", "RecordInput",
        "StatusReplies", "StoreCopy", "StoreInterface", "SystemSupport", "TextSupport",
      ],
      swiftSettings: strict),
    .executableTarget(
      name: "bobbin-image", dependencies: ["CLinux", "CVIPS", "CZlib", "ImageProtocol", "SystemSupport"],
      swiftSettings: strict),

    // The five context designs as programs to read and to run.
    example("WriterMainWorkers"),
    example("DefaultStack"),
    example("ContextPerThread"),
    example("BackgroundFetch"),
    example("CancellableEditing"),

    // The example of a package with handlers of its own, built here as well: its tests run with the others.
    .executableTarget(
      name: "own-daemon", dependencies: ["BobbinDaemon"], path: "Examples/OwnDaemon/Sources/own-daemon",
      swiftSettings: strict, plugins: ["CompileModel"]),

    // What "make bench" runs; its peers in plain C are compiled when it runs.
    .executableTarget(
      name: "bobbin-bench",
      dependencies: [
        "CSQLite", "ControlClient", "Fleet", "JSONText", "JobSchedule", "Jobs", "ObjectGraph", "PostgresTesting",
        "SystemSupport",
      ],
      path: "Benchmarks/Suite", swiftSettings: strict, plugins: ["CompileModel"]),

    // A store that can be made to fail, and what else the tests of several modules share.
    .target(name: "TestSupport", dependencies: ["SystemSupport"], path: "Tests/TestSupport", swiftSettings: strict),
    .testTarget(name: "TextSupportTests", dependencies: ["TextSupport"], swiftSettings: strict),
    .testTarget(name: "ObjectModelTests", dependencies: ["ObjectModel", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "ModelCompilerTests", dependencies: ["ObjectModel", "ObjectGraph", "SystemSupport", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "ObjectGraphTests",
      dependencies: ["ObjectGraph", "ObjectGraphTesting", "PostgresTesting", "StoreTesting", "TestSupport"],
      swiftSettings: strict, plugins: ["CompileModel"]),
    // Random programs on contexts and on a plain model of them; "make fuzz-graph" runs many.
    .target(
      name: "GraphFuzzing", dependencies: ["ObjectModel", "ObjectGraph"], path: "Tests/GraphFuzzing",
      swiftSettings: strict),
    .executableTarget(
      name: "fuzz-graph", dependencies: ["GraphFuzzing"], path: "Tests/GraphFuzzer", swiftSettings: strict),
    .testTarget(name: "GraphFuzzingTests", dependencies: ["GraphFuzzing", "TestSupport"], swiftSettings: strict),
    .testTarget(name: "ExampleTests", dependencies: ["TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "SQLGenerationTests", dependencies: ["ObjectModel", "SQLGeneration", "StoreInterface"],
      swiftSettings: strict),
    .testTarget(
      name: "SQLiteStoreTests",
      dependencies: [
        "ObjectModel", "ObjectGraph", "ObjectGraphTesting", "PostgresTesting", "SQLGeneration", "SQLiteStore",
        "StoreTesting", "TestSupport",
      ],
      swiftSettings: strict),
    // A private PostgreSQL server for tests.
    .target(
      name: "PostgresTesting", dependencies: ["CPostgres", "SystemSupport", "TestSupport"],
      path: "Tests/PostgresTesting", swiftSettings: strict),
    // Whole suites on each store.
    .target(
      name: "StoreTesting", dependencies: ["PostgresTesting"], path: "Tests/StoreTesting", swiftSettings: strict),
    .testTarget(
      name: "PostgresStoreTests",
      dependencies: ["ObjectModel", "PostgresStore", "PostgresTesting", "StoreInterface", "TestSupport"],
      swiftSettings: strict),
    .systemLibrary(name: "CTrials", path: "Tests/CTrials"),
    // What tests try out in processes without Swift's concurrency.
    .executableTarget(
      name: "confined", dependencies: ["CTrials", "SystemSupport"], path: "Tests/Confined", swiftSettings: strict),
    .executableTarget(
      name: "passed-sockets", dependencies: ["SystemSupport"], path: "Tests/PassedSockets", swiftSettings: strict),
    .testTarget(
      name: "SystemSupportTests",
      dependencies: ["CLinux", "SystemSupport", "TestSupport", "confined", "passed-sockets"],
      swiftSettings: strict),
    .testTarget(
      name: "HTTPServiceTests", dependencies: ["HTTPService", "ControlClient", "SystemSupport", "TestSupport"],
      swiftSettings: strict),
    .testTarget(name: "DelimitedTextTests", dependencies: ["DelimitedText", "TestSupport"], swiftSettings: strict),
    .testTarget(name: "CalendarTimeTests", dependencies: ["CalendarTime", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "TimetableTests", dependencies: ["CalendarTime", "TestSupport", "Timetable"], swiftSettings: strict),
    .testTarget(
      name: "RecordInputTests",
      dependencies: ["DelimitedText", "JSONText", "RecordInput", "SystemSupport", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "JSONTextTests", dependencies: ["JSONText", "SystemSupport", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "ConfigurationTests", dependencies: ["Configuration", "TextSupport", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "ImageHelperTests",
      dependencies: ["CLinux", "ImageHandler", "ImageProtocol", "SystemSupport", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "JobScheduleTests", dependencies: ["JobSchedule", "Jobs", "ObjectGraph", "ObjectModel", "TestSupport"],
      swiftSettings: strict),
    // A fleet with a virtual clock and a ledger in memory, and random faults.
    .target(
      name: "FleetSimulation", dependencies: ["Fleet", "JobSchedule", "Jobs", "ObjectGraph"],
      path: "Tests/FleetSimulation", swiftSettings: strict),
    .executableTarget(
      name: "fuzz-fleet", dependencies: ["FleetSimulation"], path: "Tests/FleetFuzzer", swiftSettings: strict),
    .testTarget(
      name: "FleetTests", dependencies: ["Fleet", "FleetSimulation", "JSONText", "JobSchedule", "Jobs", "ObjectGraph"],
      swiftSettings: strict),
    .testTarget(
      name: "PostgresFleetTests",
      dependencies: [
        "Fleet", "FleetSimulation", "JobSchedule", "Jobs", "ObjectGraph", "PostgresFleet", "PostgresStore",
        "PostgresTesting", "SystemSupport", "TestSupport",
      ], swiftSettings: strict),
    .testTarget(
      name: "JobDaemonTests",
      dependencies: [
        "BobbinDaemon", "Configuration", "ControlClient", "Fleet", "HTTPService", "JSONText", "JobDaemon",
        "JobSchedule", "Jobs",
        "ObjectGraph", "ObjectModel", "SQLiteStore", "StatusPage", "StatusReplies", "SystemSupport",
        "TestSupport",
      ], swiftSettings: strict),
    .testTarget(
      name: "ImportHandlerTests", dependencies: ["DelimitedText", "ImportHandler", "RecordInput"],
      swiftSettings: strict),
    .testTarget(
      name: "ImageHandlerTests",
      dependencies: [
        "Configuration", "ImageHandler", "ImageProtocol", "JSONText", "Jobs", "SystemSupport", "TestSupport",
      ], swiftSettings: strict),
    .testTarget(
      name: "ProgramHandlerTests",
      dependencies: [
        "Configuration", "JSONText", "Jobs", "ObjectGraph", "ProgramHandler", "SystemSupport", "TestSupport",
      ], swiftSettings: strict),
    .testTarget(
      name: "BobbinctlTests",
      dependencies: ["bobbinctl", "HTTPService", "JSONText", "StatusReplies", "SystemSupport", "TestSupport"],
      swiftSettings: strict),
    // Many clients of one user at a time.
    .executableTarget(
      name: "socket-crowd", dependencies: ["SystemSupport"], path: "Tests/SocketCrowd", swiftSettings: strict),
    // Real daemons for tests: their processes, their folders, and what can be done to them.
    .target(
      name: "DaemonTesting",
      dependencies: [
        "CLinux", "Configuration", "ControlClient", "JSONText", "PostgresTesting", "SystemSupport", "TestSupport",
      ],
      path: "Tests/DaemonTesting", swiftSettings: strict),
    .testTarget(
      name: "SystemTests",
      dependencies: [
        "CLinux", "Configuration", "ControlClient", "DaemonTesting", "JSONText", "PostgresTesting", "SystemSupport",
        "TestSupport", "socket-crowd",
      ],
      path: "Tests/System", swiftSettings: strict),
    // The page in a real browser.
    .testTarget(
      name: "PageTests",
      dependencies: ["DaemonTesting", "JSONText", "PostgresTesting", "SystemSupport", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "StoreCopyTests",
      dependencies: [
        "CSQLite", "DaemonTesting", "ObjectGraph", "ObjectModel", "PostgresStore", "PostgresTesting", "SQLGeneration",
        "StoreCopy", "SystemSupport", "TestSupport", "bobbinctl",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "DoctorTests", dependencies: ["Configuration", "DaemonTesting", "Doctor", "SystemSupport", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "FaultTests",
      dependencies: [
        "Configuration", "ControlClient", "DaemonTesting", "JSONText", "PostgresTesting", "SystemSupport",
        "TestSupport",
      ],
      path: "Tests/Faults", swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)
