#!/usr/bin/env bash
# Tests the page. Exit status 77: Node.js, its packages or Chromium are missing.
# usage: test.sh types|unit|browser
#        test.sh size DIST-FOLDER
set -euo pipefail
cd "$(dirname "$0")"
most_bytes=200000 # of scripts and styles, compressed

if ! command -v node >/dev/null || [ ! -d node_modules ]; then
  echo "skipped: node or dashboard/node_modules is missing; a build with TRIBUTARY_DASHBOARD=on makes the latter"
  exit 77
fi
case $1 in
  types) npm run -s check ;;
  unit) npm test -s ;;
  browser) node browser/run.mjs ;;
  size)
    bytes=$(cat "$2"/assets/*.js "$2"/assets/*.css | gzip -9 | wc -c)
    echo "scripts and styles: $bytes bytes compressed, at most $most_bytes"
    [ "$bytes" -le "$most_bytes" ]
    ;;
  *)
    echo "test.sh: unknown test \"$1\"" >&2
    exit 64
    ;;
esac
