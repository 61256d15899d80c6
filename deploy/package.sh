#!/usr/bin/env bash
# Builds the Debian packages of Debian 12 into build/packages: for this machine, or for arm64 with a cross compiler.
# usage: package.sh [amd64|arm64]
set -euo pipefail
cd "$(dirname "$0")/.."
own=$(dpkg --print-architecture)
architecture=${1:-$own}
case $architecture in
  "$own") preset=release ;;
  arm64) preset=arm64 ;;
  *)
    echo "usage: package.sh [$own|arm64]" >&2
    exit 64
    ;;
esac

deploy/install-packages.sh deploy/packages.txt deploy/packages-page.txt deploy/packages-fpga.txt deploy/packages-release.txt
export TRIBUTARY_BUILD=$PWD/build/$preset
if [ "$preset" = arm64 ]; then
  deploy/install-packages.sh deploy/packages-arm64.txt
  export TRIBUTARY_SYSROOT=$PWD/build/sysroot-arm64
  [ -f "$TRIBUTARY_SYSROOT/complete" ] || deploy/sysroot.sh arm64 "$TRIBUTARY_SYSROOT"
fi
# A package without the aggregator's page would be a poor one: it is a fault if the page cannot be built.
deploy/build.sh "$preset" -DTRIBUTARY_DASHBOARD=on tributary_installed

# dpkg-buildpackage leaves its results beside the folder that it works in.
work=build/packages/work-$architecture
rm -rf "$work"
mkdir -p "$work/tributary"
cp -r deploy/debian "$work/tributary/debian"
options=(--build=binary --no-sign --no-check-builddeps --host-arch="$architecture")
# The packages of Architecture: all come from one build only.
[ "$architecture" = "$own" ] || options[0]=--build=any
log=$work/log
(cd "$work/tributary" && dpkg-buildpackage "${options[@]}") >"$log" 2>&1 || {
  tail -n 40 "$log" >&2
  exit 1
}
lintian --allow-root --fail-on error "$work"/*.changes
rm -f build/packages/*_"$architecture".deb
mv "$work"/*.deb build/packages/
rm -r "$work"
ls -l build/packages
