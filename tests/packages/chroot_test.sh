#!/usr/bin/env bash
# The packages in a folder on a fresh Debian 12: installation up to the first fused position, upgrade, bad input, removal and
# purge. Needs root, debootstrap and Debian's archive. systemd does not run there: what a unit starts is started by hand.
# usage: chroot_test.sh FOLDER
set -euo pipefail
packages=$(realpath "$1")
architecture=$(dpkg --print-architecture)

root=$(mktemp -d /var/tmp/tributary-chroot.XXXXXX)
chmod 755 "$root"
clean_up() {
  jobs -p | xargs -r kill 2>/dev/null || true
  wait
  findmnt -rno TARGET | grep "^$root/" | sort -r | xargs -r umount
  rm -rf --one-file-system "$root"
}
trap clean_up EXIT

step() { printf '== %s (%d s)\n' "$1" "$SECONDS"; }
fail() {
  echo "fault: $1" >&2
  exit 1
}
expect() { [ "$2" = "$3" ] || fail "$1: expected '$3', found '$2'"; }
in_root() { chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"; }
as_daemon() { chroot "$root" setpriv --reuid=tributary --regid=tributary --init-groups --no-new-privs --inh-caps=-all "$@"; }
try_apt() {
  in_root apt-get -qq -y -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold \
    --no-install-recommends "$@" >"$root/tmp/apt.log" 2>&1
}
apt() { try_apt "$@" || fail "apt-get $*: $(tail -n 20 "$root/tmp/apt.log")"; }
archives() { # VERSION PACKAGE...: their files
  local version=$1
  shift
  (cd "$root" && for name in "$@"; do printf '/%s\n' "archives/${name}_${version}"_*.deb; done)
}
expect_status() { # STATUS COMMAND...: what it says on standard error is then in tmp/said
  local wanted=$1 status=0
  shift
  "$@" >/dev/null 2>"$root/tmp/said" || status=$?
  expect "status of $*" "$status" "$wanted"
}
said() { grep -qE "$1" "$root/tmp/said" || fail "not said: $1, but: $(cat "$root/tmp/said")"; }

# The version before: the same programs; other configurations, one with a key that the present release does not know.
make_version_before() {
  local archive tree
  for archive in "$root"/archives/*.deb; do
    tree=$(mktemp -d)
    dpkg-deb -R "$archive" "$tree"
    sed -i "s/^Version: .*/Version: $before/; s/(= $version)/(= $before)/g" "$tree/DEBIAN/control"
    [ ! -d "$tree/etc/tributary" ] || sed -i '1i # The version before.' "$tree"/etc/tributary/*.toml
    [ ! -f "$tree/etc/tributary/aggregator.toml" ] || sed -i 's/^dimension = 2/&\ngone = 1/' "$tree/etc/tributary/aggregator.toml"
    dpkg-deb --root-owner-group -b "$tree" "$root/archives" >/dev/null
    rm -r "$tree"
  done
}

# On a network of its own, whose loopback is up: other daemons of this machine are out of sight. What was started ends with it.
first_position() { # SECONDS SCRIPT: the script starts daemons; ADDRESS is where the aggregator then listens
  timeout "$1" unshare --net --pid --fork --kill-child bash -c "ip link set lo up
    $2
    in_root tributary watch lab --aggregator \$ADDRESS --json --seconds $1 2>'$root/tmp/said' | grep -m 1 '\"means\": *\[[^]]'" ||
    fail "no fused position within $1 s: $(cat "$root"/tmp/*.log "$root/tmp/said" | tail -n 20)"
}
export -f in_root as_daemon
export root

step "a fresh Debian 12"
debootstrap --variant=minbase bookworm "$root" >"$root.log" 2>&1 || fail "debootstrap: $(tail -n 5 "$root.log")"
rm "$root.log"
mount -t proc proc "$root/proc"
cp /etc/resolv.conf "$root/etc/resolv.conf"
mkdir "$root/archives"
cp "$packages"/*_"$architecture".deb "$packages"/*_all.deb "$root/archives/"
version=$(dpkg-deb -f "$root"/archives/tributary-node_*.deb Version)
before=$version~before
make_version_before
in_root apt-get -qq update 2>/dev/null
all=(tributary-node tributary-aggregator tributary tributary-models tributary-fpga-sim tributary-doc
  libtributary-delegate0 libtributary-delegate-dev)
mapfile -t files_before < <(archives "$before" "${all[@]}")
mapfile -t files < <(archives "$version" "${all[@]}")

step "a full disk at the installation"
apt install "$(archives "$before" tributary-models)"
mount -t tmpfs -o size=64k full "$root/usr/share/tributary/models"
if try_apt install "$(archives "$version" tributary-models)"; then fail "apt put 900 kB on a disk of 64 kB"; fi
grep -q 'No space left on device' "$root/tmp/apt.log" || fail "apt does not say that the disk is full"
umount "$root/usr/share/tributary/models"
apt install "$(archives "$version" tributary-models)"
apt purge tributary-models

step "installation of the version before"
apt install "${files_before[@]}"
expect "the aggregator's service" "$(in_root systemctl is-enabled tributary-aggregator)" enabled
expect "the node's service" "$(in_root systemctl is-enabled tributary-node || true)" disabled
expect "/var/lib/tributary" "$(in_root stat -c '%U:%G %a' /var/lib/tributary)" "tributary:tributary 750"
expect "/etc/tributary/certs" "$(in_root stat -c '%U:%G %a' /etc/tributary/certs)" "root:tributary 750"

step "a configuration with a key that has gone"
expect_status 78 in_root tributary-aggregator --config /etc/tributary/aggregator.toml --check
said 'aggregator\.toml:[0-9]+.*gone'

step "upgrade: what was changed stays, what was not is new"
echo '# Changed by the operator.' >>"$root/etc/tributary/node.toml"
echo kept | as_daemon tee /var/lib/tributary/state >/dev/null
apt install "${files[@]}"
for name in "${all[@]}"; do
  # shellcheck disable=SC2016 # dpkg-query fills these in
  expect "$name" "$(in_root dpkg-query -W -f '${db:Status-Status} ${Version}' "$name")" "installed $version"
done
expect "the last line of node.toml" "$(tail -n 1 "$root/etc/tributary/node.toml")" '# Changed by the operator.'
if grep -q gone "$root/etc/tributary/aggregator.toml"; then fail "the upgrade left the version before's aggregator.toml"; fi
expect "the state" "$(cat "$root/var/lib/tributary/state")" kept
expect "the aggregator's service" "$(in_root systemctl is-enabled tributary-aggregator)" enabled
expect "the node's service" "$(in_root systemctl is-enabled tributary-node || true)" disabled

step "the configurations as installed"
examples=/usr/share/doc/tributary-node/examples
for file in /etc/tributary/node.toml $examples/{node,four-panels,node-radio}.toml; do
  expect_status 0 in_root tributary-node --config "$file" --check
done
for file in /etc/tributary/aggregator.toml /usr/share/doc/tributary-aggregator/examples/aggregator.toml; do
  expect_status 0 in_root tributary-aggregator --config "$file" --check
done
expect_status 0 in_root tributary train beacon-start --second-order --out /tmp/start.safetensors
for file in "$root"/usr/share/doc/tributary/examples/runs/*.toml; do
  model=()
  case $(basename "$file") in
    levenberg_marquardt.toml) model=(--model /tmp/start.safetensors) ;;
    modulation.toml | positioning.toml)
      model=(--model "/usr/share/tributary/models/$(basename "$file" .toml).safetensors")
      ;;
  esac
  expect_status 0 in_root tributary run start "${file#"$root"}" --check "${model[@]}"
done

step "the first fused position"
start=$SECONDS
first_position 60 "ADDRESS=127.0.0.1:7400
  as_daemon tributary-aggregator --config /etc/tributary/aggregator.toml 2>'$root/tmp/aggregator.log' &
  as_daemon tributary-node --config $examples/four-panels.toml 2>'$root/tmp/node.log' &" | cut -c 1-100
echo "$((SECONDS - start)) s after the start of both daemons"

step "services that start before the network"
sed 's/"127.0.0.1:7400"/"10.9.9.1:7400"\ninsecure = true/' "$root/etc/tributary/aggregator.toml" >"$root/tmp/aggregator.toml"
sed 's/"127.0.0.1:7400"/"10.9.9.1:7400"\ninsecure = true/' "$root$examples/four-panels.toml" >"$root/tmp/node.toml"
first_position 60 "ADDRESS=10.9.9.1:7400
  as_daemon tributary-aggregator --config /tmp/aggregator.toml 2>'$root/tmp/aggregator.log'
  [ \$? = 69 ] || exit 1  # systemd tries again
  as_daemon tributary-node --config /tmp/node.toml 2>'$root/tmp/node.log' &
  sleep 2
  ip address add 10.9.9.1/32 dev lo
  as_daemon tributary-aggregator --config /tmp/aggregator.toml 2>>'$root/tmp/aggregator.log' &" >/dev/null

step "a machine without a board"
in_root tributary-xclbin --kernel positioning_kernel:1 --output /usr/share/tributary/board.xclbin
sed 's|^\[panel.source\]|accelerator = "xrt"\nxclbin = "/usr/share/tributary/board.xclbin"\n&|' "$root/etc/tributary/node.toml" >"$root/tmp/board.toml"
expect_status 69 in_root env XILINX_XRT=/usr/lib/tributary/xrt tributary-node --config /tmp/board.toml
cat "$root/tmp/said"

step "the simulated board"
first_position 60 "ADDRESS=127.0.0.1:7400
  as_daemon tributary-aggregator --config /etc/tributary/aggregator.toml 2>'$root/tmp/aggregator.log' &
  as_daemon env XILINX_XRT=/usr/lib/tributary/simulated-board tributary-node --config /tmp/board.toml 2>'$root/tmp/node.log' &" >/dev/null

step "removal: configurations and state stay"
apt remove "${all[@]}"
[ ! -e "$root/usr/bin/tributary-node" ] || fail "removal left the program"
[ -f "$root/etc/tributary/node.toml" ] || fail "removal took node.toml"
expect "the state" "$(cat "$root/var/lib/tributary/state")" kept

step "purge: the last daemon takes the state along; keys stay"
echo key >"$root/etc/tributary/certs/south.key"
apt purge tributary-aggregator
[ ! -e "$root/etc/tributary/aggregator.toml" ] || fail "purge left aggregator.toml"
expect "the state while the node's configuration is there" "$(cat "$root/var/lib/tributary/state")" kept
apt purge tributary-node
[ ! -e "$root/var/lib/tributary" ] || fail "purge left /var/lib/tributary"
expect "what is left in /etc/tributary" "$(cd "$root/etc/tributary" && find . -type f)" ./certs/south.key
expect "what is left of the services" "$(find "$root/etc/systemd" "$root/var/lib/systemd" -name '*tributary*')" ""
step "all is well"
