import PackagePlugin

/// Compiles every `.xcdatamodeld` bundle of a target into typed Swift classes.
@main
struct CompileModel: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    []
  }
}
