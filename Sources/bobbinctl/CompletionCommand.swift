import TextSupport

/// `bobbinctl completion`: the script by which a shell completes command lines.
struct CompletionCommand: Subcommand {
  static let name = "completion"
  static let usage = "completion bash | zsh | fish"
  static let summary = "Print the script with which a shell completes commands, options, jobs, queues and more"
  static let details = """
    "make install" puts it where the shells look for it. Elsewhere: source <(bobbinctl completion bash) in ~/.bashrc, the
    file _bobbinctl in a folder of zsh's fpath, or ~/.config/fish/completions/bobbinctl.fish. What it offers comes from
    bobbinctl and from the daemon that the command line names, which has a second to answer.
    """

  private let shell: String

  init(_ arguments: inout ParsedArguments) {
    shell = arguments.operands.first ?? ""
    if arguments.operands.count != 1 || ShellScripts.byShell[shell] == nil {
      arguments.addProblem("a shell is expected: \(Self.usage)")
    }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    try session.output.write(ShellScripts.byShell[shell] ?? "")
    return .success
  }
}

/// `bobbinctl complete -- WORD...`, which the scripts call: prints what may stand at the place of the last word.
///
/// Each line is a value, and after a tab what it is; a line that begins with a tab names what the shell knows itself.
struct CompleteCommand: Subcommand {
  static let name = "complete"
  static let usage = "complete -- WORD..."
  static let summary = "Print what may stand at the place of the last word"
  static let details = "The scripts of \"bobbinctl completion\" call it."

  private let words: [String]

  init(_ arguments: inout ParsedArguments) { words = arguments.operands }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    switch Completion(words).offer(session.output) {
    case .files: try session.output.write("\tfiles\n")
    case .folders: try session.output.write("\tfolders\n")
    case .values(let candidates):
      // An ID is one line of text, as the daemon sees to it.
      try session.output.write(
        candidates.map { $0.note.isEmpty ? "\($0.value)\n" : "\($0.value)\t\($0.note)\n" }.joined())
    }
    return .success
  }
}

/// Scripts that have the shells ask `bobbinctl complete`, and offer what it prints.
private enum ShellScripts {
  static let byShell = ["bash": bash, "zsh": zsh, "fish": fish]

  // Readline takes = : and @ for the ends of words; bobbinctl does not, so the pieces are put together again, and what
  // stands before the last piece is taken off what is offered.
  private static let bash = #"""
    # bash completion for bobbinctl; printed by "bobbinctl completion bash".
    _bobbinctl() {
      local rest=$COMP_LINE words=() piece line value i
      for ((i = 0; i <= COMP_CWORD; i++)); do
        piece=${COMP_WORDS[i]}
        if ((i > 0)) && [[ -n $rest && $rest != [[:space:]]* ]]; then
          words[${#words[@]}-1]+=$piece
        else
          words+=("$piece")
          rest=${rest#"${rest%%[![:space:]]*}"}
        fi
        rest=${rest#"$piece"}
      done
      local current=${words[${#words[@]}-1]}
      [[ -n $piece && -z ${piece//[=:@]/} ]] && piece=
      local kept=${current%"$piece"}
      # The words without quotes and backslashes.
      words=("${words[@]//\\/}")
      words=("${words[@]//[\"\']/}")
      local program=${words[0]/#\~\//$HOME/}
      COMPREPLY=()
      while IFS= read -r line; do
        case $line in
          $'\tfiles') compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$piece"); return ;;
          $'\tfolders') compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$piece"); return ;;
        esac
        printf -v value %q "${line%%$'\t'*}"
        COMPREPLY+=("${value#"$kept"}")
      done < <("$program" complete -- "${words[@]:1}" 2>/dev/null)
    }
    complete -o nosort -F _bobbinctl bobbinctl

    """#

  private static let zsh = #"""
    #compdef bobbinctl
    # zsh completion for bobbinctl; printed by "bobbinctl completion zsh".
    _bobbinctl() {
      local -a values notes
      local line
      for line in "${(@f)$("${(Q)words[1]/#\~\//$HOME/}" complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}"; do
        case $line in
          $'\tfiles') compset -P '--*='; _files; return ;;
          $'\tfolders') compset -P '--*='; _files -/; return ;;
          ?*)
            values+=("${line%%$'\t'*}")
            notes+=("${line/$'\t'/  -- }")
            ;;
        esac
      done
      (( $#values )) && compadd -l -V bobbinctl -d notes -a values
    }
    if [[ $funcstack[1] == _bobbinctl ]]; then
      _bobbinctl "$@"
    else
      compdef _bobbinctl bobbinctl
    fi

    """#

  private static let fish = #"""
    # fish completion for bobbinctl; printed by "bobbinctl completion fish".
    function __bobbinctl_complete
        set -l words (commandline -opc)
        set -l current (commandline -ct)
        set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
        set -e words[1]
        for line in ($program complete -- $words $current 2>/dev/null)
            switch $line
                case \tfiles
                    __fish_complete_path (string replace -r '^--[^=]*=' '' -- $current)
                case \tfolders
                    __fish_complete_directories (string replace -r '^--[^=]*=' '' -- $current)
                case '*'
                    echo $line
            end
        end
    end
    complete -c bobbinctl -f -k -a '(__bobbinctl_complete)'

    """#
}
