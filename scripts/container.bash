# Boots a system of its own in a container, whose changes stay in memory; sourced by scripts that check an installation.
# Needs root, systemd-nspawn, and a machine on which that boots a system; where they are missing, the script that sources
# this says so and ends with 0, unless BOBBIN_REQUIRE_CONTAINER is set. Nothing of ours runs before the system is up.
#
# work: a folder in memory, with the system in work/root; leader: its process 1.

script=${0##*/}
die() {
  printf '%s\n' "$@" | sed "1s/^/$script: /" >&2
  [[ -z ${leader:-} ]] || inside journalctl --no-pager -u bobbind -n 30 >&2 || true
  exit 1
}
# Leaves a check out for want of something, and says so; BOBBIN_REQUIRE_CONTAINER=1 says that this machine wants for
# nothing: it has root's rights and may mount, and packages can be installed.
leave_out() { # REASON
  [[ -z ${BOBBIN_REQUIRE_CONTAINER:-} ]] || die "$1; BOBBIN_REQUIRE_CONTAINER wants all checks done here"
  echo "$script: skipped: $1"
}
without_container() { # REASON
  leave_out "$1"
  exit 0
}
check() { echo "  $1"; }
# Looks for an expression in what it reads, to the end: a program whose reader ends earlier fails, and the pipe with it.
says() { grep -E "$1" >/dev/null; }
inside() { nsenter -t "$leader" -a -- "$@"; }
# The present end of the journal, as a place for told().
journal_end() {
  local cursor
  cursor=$(inside journalctl --no-pager -n 1 --show-cursor | sed -n 's/^-- cursor: //p')
  [[ -n $cursor ]] || die 'the journal has no end'
  echo "$cursor"
}
# Waits until the service has said something, in the last minutes or behind a place; follows the journal, so that nothing is
# asked again and again.
told() { # EXPRESSION [PLACE]
  local since=--since=-2min
  [[ -z ${2:-} ]] || since=--after-cursor=$2
  grep -q -m 1 -E "$1" < <(inside timeout 30 journalctl --no-pager -u bobbind -o cat "$since" --follow 2>/dev/null)
}
# Has the service load its configuration, and waits until that holds: systemd 252 may return when the signal is sent.
reload() {
  local place
  place=$(journal_end) || exit 1
  inside systemctl reload bobbind && told '^reloaded' "$place"
}
# Submits one job after the other, meanwhile-1 and so on, until end_submitting.
#
# Who waits while the daemon stops is told to try again, which finds the same job: a request that is turned away otherwise
# is a fault.
begin_submitting() {
  inside sh -c 'touch /root/submitting; number=1
    while [ -e /root/submitting ]; do
      if reply=$(echo "{\"type\": \"noop\", \"id\": \"meanwhile-$number\"}" | bobbinctl submit --wait=60 - 2>&1); then
        number=$((number + 1))
      elif ! echo "$reply" | grep -E "the (server|daemon) is stopping|the wait has ended" >/dev/null; then
        echo "$reply" >>/root/refused
        exit
      fi
    done
    echo $((number - 1)) >/root/submitted' &
  submitter=$!
}
# Sets submitted, to the number of jobs, all of which are completed.
end_submitting() {
  inside rm /root/submitting
  wait "$submitter"
  [[ ! -s $work/root/root/refused ]] || die 'requests were refused meanwhile:' "$(<"$work/root/root/refused")"
  submitted=$(<"$work/root/root/submitted")
  ((submitted > 0)) || die 'nobody has submitted anything meanwhile'
}

work=$(mktemp -d)
container= leader=
end() {
  local status=$?
  trap - EXIT
  if [[ -n $container ]]; then
    # The signal for an orderly power-off (see systemd(1)).
    [[ -z $leader ]] || kill -s RTMIN+4 "$leader" 2>/dev/null || true
    timeout 30 tail -f --pid="$container" /dev/null || kill -KILL "$container" 2>/dev/null || true
  fi
  umount "$work/root" 2>/dev/null || true
  umount "$work" 2>/dev/null || true
  rmdir "$work" 2>/dev/null || true
  exit "$status"
}
trap end EXIT
trap 'exit 130' INT TERM HUP

# Makes work/root of a folder with a system, such as / itself.
overlay_system() {
  ((EUID == 0)) || without_container 'it needs root'
  command -v systemd-nspawn >/dev/null || without_container 'systemd-nspawn is missing (apt-get install systemd-container)'
  mount -t tmpfs tmpfs "$work" 2>/dev/null || without_container 'nothing can be mounted here'
  mkdir "$work"/{root,upper,overlay}
  mount -t overlay overlay -o "lowerdir=$1,upperdir=$work/upper,workdir=$work/overlay" "$work/root" 2>/dev/null ||
    without_container "$1 can not be overlaid"
}

# Starts what is in work/root, and waits until it is up.
boot_system() { # [die]: what is done if it does not come up
  local log
  log=$(mktemp "$work/console.XXXXXX")
  setsid systemd-nspawn -D "$work/root" --register=no --keep-unit --link-journal=no --boot \
    --system-call-filter=seccomp \
    systemd.unit=multi-user.target </dev/null >"$log" 2>&1 &
  container=$!
  grep -a -q -m 1 'Reached target.*[Mm]ulti-[Uu]ser' < <(timeout 90 tail -n +1 -F --pid="$container" "$log" 2>/dev/null) ||
    { tail -n 20 "$log" >&2; "${1:-without_container}" 'the container does not boot here'; }
  leader=$(pgrep -P "$container")
}

# Has the system go down and come up again, with its disk as it was.
reboot_system() {
  inside systemctl reboot
  timeout 90 tail -f --pid="$container" /dev/null || die 'the system does not go down for a reboot'
  container= leader=
  boot_system die
}
