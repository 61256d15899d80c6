#!/usr/bin/env bash
# Installs the Debian packages listed in the given files that are not installed yet; as root or through sudo.
# A line is a package, or `PACKAGE unless COMMAND`: the package is not needed where the command exists already.
# usage: install-packages.sh LIST...
set -euo pipefail

mapfile -t wanted < <(grep -hvE '^(#|$)' "$@")
missing=()
for line in "${wanted[@]}"; do
  read -r package unless command <<<"$line"
  if [ "$unless" = unless ] && command -v "$command" >/dev/null; then continue; fi
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "These packages are missing and neither root nor sudo is at hand: ${missing[*]}" >&2
    exit 1
  }
  as_root=(sudo)
fi

echo "Installing ${#missing[@]} Debian packages: ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -q -y --no-install-recommends "${missing[@]}"
}
if ! install >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "apt-get failed; Tributary is built for Debian 12 (bookworm)" >&2
  exit 1
fi
