# shellcheck shell=bash
# Starts and stops the daemons of a demo. Sourced; needs `set -euo pipefail`, runs in the repository's root.

# shellcheck disable=SC2034  # used by the scripts that source this one
bin=${TRIBUTARY_BIN_DIR:-$PWD/build/release/bin}
work=$(mktemp -d)
declare -A daemons=()

stop_all() {
  local name
  for name in "${!daemons[@]}"; do kill -TERM "${daemons[$name]}" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap stop_all EXIT
trap 'exit 130' INT TERM
# The demos' aggregators listen in plaintext on the loopback: an operator's own aggregator and certificate do not apply.
unset TRIBUTARY_AGGREGATOR TRIBUTARY_CERTIFICATE TRIBUTARY_KEY TRIBUTARY_CA

start() { # name, program, arguments...
  local name=$1
  shift
  "$@" 2>"$work/$name.log" &
  daemons[$name]=$!
}

# Waits for a daemon's end; fails with its log unless it ended well.
finish() { # name [signal]
  local name=$1 status=0
  [ -z "${2:-}" ] || kill -"$2" "${daemons[$name]}" 2>/dev/null || true
  wait "${daemons[$name]}" || status=$?
  unset "daemons[$name]"
  [ "$status" -eq 0 ] || die "$name ended with exit code $status" "$name"
}

die() { # message, daemon whose log to show
  echo "demo: $1; the end of its log:" >&2
  tail -n 20 "$work/$2.log" >&2
  exit 1
}

# Waits up to 20 s for a condition; if a daemon dies meanwhile, the demo ends with its log.
wait_for() { # what, daemon, command...
  local what=$1 name=$2 i
  shift 2
  for ((i = 0; i < 400; i++)); do
    "$@" >/dev/null 2>&1 && return
    kill -0 "${daemons[$name]}" 2>/dev/null || die "$name stopped" "$name"
    sleep 0.05
  done
  die "$what did not happen within 20 s" "$name"
}

# A port of the loopback that nobody listens on.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 10000))
    (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
  done
  echo "$port"
}

http_ok() { # address, path
  curl -fsS --max-time 2 "http://$1$2"
}

# Whether the aggregator with this HTTP address has accepted frames of this many connected nodes.
reporting() { # address, count
  [ "$(http_ok "$1" /api/v1/nodes | jq '[.nodes[] | select(.connected and .accepted_frames != "0")] | length')" = "$2" ]
}

# Waits until the given nodes report; if one ends meanwhile, the demo ends with its log.
wait_for_nodes() { # HTTP address of the aggregator, node...
  local http=$1 i name
  shift
  for ((i = 0; i < 400; i++)); do
    ! reporting "$http" "$#" 2>/dev/null || return 0
    for name in "$@"; do
      kill -0 "${daemons[$name]}" 2>/dev/null || die "node $name stopped" "$name"
    done
    sleep 0.05
  done
  die "$* did not all report within 20 s" aggregator
}

# Prints the figures of a demo and copies them to the user's file.
report() { # out.json, file or nothing
  jq -r '
    "",
    "fused        \(.fused_per_s | round) positions/s over \(.seconds * 10 | round / 10) s, \(.lost) tuples lost",
    "error        mean \(.mean_error_cm * 100 | round / 100) cm, p90 \(.p90_error_cm * 100 | round / 100) cm, p99 \(.p99_error_cm * 100 | round / 100) cm",
    "consistency  NEES \(.nees * 100 | round / 100) (2 is ideal)",
    "latency      p50 \(.latency_us.p50 | round) us, p99 \(.latency_us.p99 | round) us from sample to reader"' "$1"
  [ -z "$2" ] || cp "$1" "$2"
}
