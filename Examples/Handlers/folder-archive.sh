#!/bin/sh
# A job type for Bobbin: packs a folder into a compressed archive. Needs jq, which reads the job.
set -eu

fail() {
  jq -cn --arg message "$2" '{error: {message: $message, permanent: true}}'
  exit "$1"
}

# Everything that is asked for the job comes as one JSON object on standard input.
job=$(cat)
argument() { printf '%s' "$job" | jq -r --arg name "$1" '.arguments[$name]'; }
input=$(argument input)
output=$(argument output)

# 66 and 65 (sysexits.h) tell that another attempt would fail in the same way.
[ -d "$input" ] || fail 66 "there is no folder $input"
case $output in *.tar.gz) ;; *) fail 65 "the output $output must end in .tar.gz" ;; esac

# The archive appears whole, by renaming. A retry replaces what an attempt that was killed left behind.
temporary=$output.$BOBBIN_JOB_ID.part
trap 'rm -f -- "$temporary"' EXIT
trap 'exit 75' TERM
# What the program says on standard error, here the names of the files, is the job's log.
tar --create --gzip --verbose --file="$temporary" --directory="$input" -- . >&2
sync -- "$temporary"
mv -f -- "$temporary" "$output"
printf '{"result": {"bytes": %s}}\n' "$(stat --format=%s -- "$output")"
