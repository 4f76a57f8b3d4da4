// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "own-daemon",
  // A package elsewhere names the folder or the address of bobbin's repository here.
  dependencies: [.package(name: "bobbin", path: "../..")],
  targets: [
    .executableTarget(
      name: "own-daemon",
      dependencies: [.product(name: "BobbinDaemon", package: "bobbin")],
      // Makes the classes of Catalogue.xcdatamodeld.
      plugins: [.plugin(name: "CompileModel", package: "bobbin")])
  ]
)
