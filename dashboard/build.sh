#!/usr/bin/env bash
# Builds the page into a folder; without Node.js, the folder gets a page that says so.
# usage: build.sh auto|on|off OUT-FOLDER
#        on: it is a fault if the page cannot be built; auto: that is said, and the other page stands in for it
set -euo pipefail
cd "$(dirname "$0")"
mode=$1
out=$(realpath -m "$2")

stand_in() { # why
  [ "$mode" != on ] || { echo "dashboard: $1" >&2; exit 1; }
  [ "$mode" = off ] || echo "dashboard: $1: the aggregator gets a page that says how to build it" >&2
  rm -rf "$out"
  mkdir -p "$out"
  cp stand_in.html "$out/index.html"
  exit 0
}

[ "$mode" != off ] || stand_in "switched off"
for program in node npm; do
  command -v "$program" >/dev/null || stand_in "$program is missing"
done

# Several build folders share node_modules.
exec 9<package-lock.json
flock 9
if ! cmp -s package-lock.json node_modules/.installed-lock; then
  npm ci --no-audit --no-fund --loglevel=error --ignore-scripts >&2 || stand_in "npm ci failed (is the registry within reach?)"
  cp package-lock.json node_modules/.installed-lock
fi
node_modules/.bin/vite build --logLevel warn --outDir "$out" >&2 || stand_in "vite build failed"
