import BobbinDaemon

// Everything else is as with bobbind: arguments, configuration, spool, socket, and the built-in job types.
DaemonProgram(handlers: [CatalogueHandler(), ReportHandler()], models: [Catalogue.model]).run()
