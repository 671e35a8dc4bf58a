#!/bin/sh
# How small and how fast a compressor is, on numbers from 1 to `lines`. A program needs no Python: values come from the file INLIER_TRIAL, lines of JSON
# go to the descriptor INLIER_EVENTS. By hand: ./run.sh
set -eu
value() { # value NAME DEFAULT: a parameter of the trial. Of JSON this reads no more than a name and a word or number after it.
  found=$(sed -n "s/.*\"$1\": *\"\{0,1\}\([^\",}]*\).*/\1/p" "${INLIER_TRIAL:-/dev/null}" | head -n 1)
  echo "${found:-$2}"
}
report() { # report LINE: to the worker, or by hand to the terminal.
  if [ -n "${INLIER_EVENTS:-}" ]; then echo "$1" >&"$INLIER_EVENTS"; else echo "$1"; fi
}

tool=$(value tool gzip) level=$(value level 6) lines=$(value lines 200000)
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
if ! command -v "$tool" >"$folder/found"; then
  report '{"outcome": {"kind": "FAILED", "failure": "INVALID_SPEC", "message": "'"$tool"' is not installed on this worker"}}'
  exit 0
fi
seq 1 "$lines" >"$folder/numbers"
begun=$(date +%s%N)
"$tool" "-$level" -c "$folder/numbers" >"$folder/small"
ended=$(date +%s%N)
large=$(wc -c <"$folder/numbers") small=$(wc -c <"$folder/small")
seconds=$(echo "$begun $ended" | awk '{ printf "%.4f", ($2 - $1) / 1e9 }')
ratio=$(echo "$large $small" | awk '{ printf "%.4f", $1 / $2 }')
report '{"measurement": {"name": "seconds", "value": '"$seconds"', "step": 1, "final": true}}'
report '{"measurement": {"name": "ratio", "value": '"$ratio"', "step": 1, "final": true}}'
report '{"outcome": {"kind": "SUCCEEDED"}}'
