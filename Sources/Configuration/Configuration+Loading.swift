extension Configuration {
  /// Reads the main file and then the drop-ins, whose assignments win over earlier ones.
  ///
  /// - Parameters:
  ///   - mainFile: The path of `bobbin.conf`; if there is no such file, its settings are at their defaults.
  ///   - dropIns: The path of the folder `bobbin.conf.d`, which may be missing.
  /// - Throws: ``ConfigurationError`` with all problems in all files.
  package static func load(mainFile: String, dropIns: String) throws(ConfigurationError) -> Configuration {
    var parser = ConfigurationParser()
    var files = [mainFile]
    do {
      files += try ConfigurationFile.dropIns(in: dropIns)
    } catch {
      parser.problems.append(error)
    }
    for file in files {
      do {
        if let text = try ConfigurationFile.contents(of: file) { parser.parse(text, file: file) }
      } catch {
        parser.problems.append(error)
      }
    }
    return try parser.result()
  }

  /// Reads the configuration of the installed service, or of a private root.
  package static func load(_ paths: Paths) throws(ConfigurationError) -> Configuration {
    try load(mainFile: paths.configurationFile, dropIns: paths.configurationDropIns)
  }

  /// The configuration that a text describes.
  ///
  /// - Parameters:
  ///   - text: The content of a configuration file.
  ///   - file: The name that errors give.
  /// - Throws: ``ConfigurationError`` with all problems in the text.
  package static func parse(_ text: String, file: String = "bobbin.conf") throws(ConfigurationError) -> Configuration {
    var parser = ConfigurationParser()
    parser.parse(Array(text.utf8), file: file)
    return try parser.result()
  }
}
