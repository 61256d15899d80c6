#!/usr/bin/env bash
# The one definition rule: links the programs with the types of all their files at hand, so that a name that stands for two
# different types or functions in one program is an error. First shows that it finds a planted one.
# usage: odr.sh
set -euo pipefail
cd "$(dirname "$0")/../.."

planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
echo 'namespace a { struct Twice { int x; }; int F() { return Twice{1}.x; } }' >"$planted/one.cc"
echo 'namespace a { struct Twice { double y; }; int G() { return static_cast<int>(Twice{2}.y); } }' >"$planted/two.cc"
echo 'namespace a { int F(); int G(); } int main() { return a::F() + a::G(); }' >"$planted/main.cc"
if g++ -O0 -flto -Werror=odr -o "$planted/program" "$planted"/{one,two,main}.cc 2>"$planted/errors"; then
  echo "a planted violation of the one definition rule was not found"
  exit 1
fi
grep -q 'violates the C++ One Definition Rule' "$planted/errors" || { cat "$planted/errors"; exit 1; }

deploy/build.sh odr tributary tributary-node tributary-aggregator
echo "one definition each: 3 programs linked, a planted violation found"
