#!/usr/bin/env bash
# The one definition rule: joins the libraries of all programs with the types of all their files at hand, so that a name that
# stands for two different types or functions is an error. First shows that it finds a planted one. Makes no machine code: the
# joined file keeps the compiler's intermediate form, which the release build's libraries then have beside their machine code
# (TRIBUTARY_ODR).
# usage: odr.sh
set -euo pipefail
cd "$(dirname "$0")/../.."

planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT

# join LIBRARY... : fails at the first violation
join() {
  g++ -O0 -flto=auto -r -flinker-output=rel -Werror=odr -Werror=lto-type-mismatch -o "$planted/joined.o" \
    -Wl,--whole-archive "$@" -Wl,--no-whole-archive
}

echo 'namespace a { struct Twice { int x; }; int F() { return Twice{1}.x; } }' >"$planted/one.cc"
echo 'namespace a { struct Twice { double y; }; int G() { return static_cast<int>(Twice{2}.y); } }' >"$planted/two.cc"
for name in one two; do
  g++ -O0 -flto -ffat-lto-objects -c -o "$planted/$name.o" "$planted/$name.cc"
  ar rc "$planted/libplanted_$name.a" "$planted/$name.o"
done
if join "$planted"/libplanted_{one,two}.a 2>"$planted/errors"; then
  echo "a planted violation of the one definition rule was not found"
  exit 1
fi
grep -q 'violates the C++ One Definition Rule' "$planted/errors" || { cat "$planted/errors"; exit 1; }

# With everything that ./test.sh builds, so that it need not compile again.
deploy/build.sh release -DTRIBUTARY_RTL=ON -DTRIBUTARY_XRT=ON -DTRIBUTARY_ODR=ON tributary tributary-node tributary-aggregator
# All but the generated messages: every file that uses one has its types.
mapfile -t libraries < <(ninja -C build/release -t inputs tributary tributary-node tributary-aggregator |
  grep '/libtributary_[a-z_]*\.a$' | grep -v '^proto/' | sort -u)
[ ${#libraries[@]} -ge 40 ] || { echo "only ${#libraries[@]} libraries were found: is the list of targets complete?"; exit 1; }
(cd build/release && join "${libraries[@]}")
echo "one definition each: ${#libraries[@]} libraries joined, a planted violation found"
