#!/usr/bin/env bash
# Makes FOLDER a Debian 12 of another architecture with the libraries of deploy/packages*.txt: headers and libraries to compile
# and link against, and dpkg's lists, from which dpkg-shlibdeps tells dependencies. Nothing is installed on this machine, and
# nothing of the other architecture runs. Some 600 MB.
# usage: sysroot.sh ARCHITECTURE FOLDER, e.g. sysroot.sh arm64 build/sysroot-arm64
set -euo pipefail
architecture=$1
root=$(realpath -m "$2")
cd "$(dirname "$0")"

mapfile -t wanted < <(grep -hE '^[a-z0-9+.-]+-dev$' packages.txt packages-fpga.txt)
wanted+=(libc6-dev libstdc++-12-dev)
state=$root/var/lib/apt
mkdir -p "$state/lists/partial" "$root/var/cache/apt/archives/partial" "$root/var/lib/dpkg/info"
: >"$state/status"
apt=(-o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture"
  -o "Dir::State=$state" -o "Dir::State::status=$state/status" -o "Dir::Cache=$root/var/cache/apt" -o APT::Sandbox::User=root)
apt-get -q "${apt[@]}" update
apt-get -q -y "${apt[@]}" install --download-only --no-install-recommends "${wanted[@]}"

# Lists are called PACKAGE:ARCHITECTURE.
echo 1 >"$root/var/lib/dpkg/info/format"

# A package's control file becomes an entry of dpkg's status; the paths in its list begin with the folder, as those of the
# libraries that dpkg-shlibdeps finds do.
: >"$root/var/lib/dpkg/status"
for archive in "$root"/var/cache/apt/archives/*.deb; do
  dpkg-deb -x "$archive" "$root"
  control=$(mktemp -d)
  dpkg-deb -e "$archive" "$control"
  name=$(dpkg-deb -f "$archive" Package):$architecture
  { cat "$control/control"; printf 'Status: install ok installed\n\n'; } >>"$root/var/lib/dpkg/status"
  dpkg-deb --fsys-tarfile "$archive" | tar -t | sed -e "s|^\.|$root|" -e 's|/$||' >"$root/var/lib/dpkg/info/$name.list"
  for file in symbols shlibs; do
    [ ! -f "$control/$file" ] || cp "$control/$file" "$root/var/lib/dpkg/info/$name.$file"
  done
  rm -r "$control"
done
rm -r "$root/var/cache/apt/archives"

# A link to /lib/… leads into this machine: make it lead into the folder.
find "$root" -type l -lname '/*' | while read -r link; do
  ln -sfrn "$root$(readlink "$link")" "$link"
done
# The build runs these: the ones of this machine.
ln -sf /usr/bin/protoc /usr/bin/grpc_*_plugin "$root/usr/bin/"
touch "$root/complete"
echo "$root: $(grep -c ^Package: "$root/var/lib/dpkg/status") packages of $architecture"
