import BobbinDaemon

DaemonProgram(name: "bobbind").run()
