#!/usr/bin/env bash
# Whether apt can install the packages of `deploy/package.sh` and `deploy/package.sh arm64` on an empty Debian 12 for arm64: whether the
# archive has all that they depend on. A simulation: nothing is downloaded or installed.
set -euo pipefail
cd "$(dirname "$0")/../.."
state=build/sysroot-arm64/var/lib/apt
if [ ! -d "$state/lists" ] || ! compgen -G 'build/packages/*_all.deb' >/dev/null; then
  echo "installable.sh: packages are missing: run deploy/package.sh && deploy/package.sh arm64" >&2
  exit 1
fi
empty=$(mktemp)
log=$(mktemp)
trap 'rm -f "$empty" "$log"' EXIT
apt-get -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o "Dir::State=$PWD/$state" -o "Dir::State::status=$empty" \
  --simulate --no-install-recommends install ./build/packages/*_arm64.deb ./build/packages/*_all.deb >"$log" 2>&1 ||
  { cat "$log" >&2; exit 1; }
for package in build/packages/*_arm64.deb; do
  name=$(dpkg-deb -f "$package" Package)
  grep -q "^Inst $name " "$log" || { echo "installable.sh: apt would not install $name" >&2; cat "$log" >&2; exit 1; }
done
echo "apt would install $(grep -c '^Inst' "$log") packages: ours, and what they depend on"
