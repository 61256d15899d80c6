#!/usr/bin/env bash
# usage: synthesise.sh NAME TOP xc7|xcup "PARAMETER=VALUE;..." "KIND<=N;KIND=N;..." FILE...
#
# Synthesises TOP with yosys, leaves NAME.v (the netlist) and NAME.txt (yosys's statistics), prints one line of
# counts and fails if one of them is not as expected, or if a bound is too far above its count to be one. KIND: LUT, FF, DSP, BRAM (of 36 Kb; 18 Kb count half), LUTRAM (the
# LUTs among them that are used as memory).
set -euo pipefail
name=$1 top=$2 family=$3 parameters=$4 expected=$5
shift 5

settings=
IFS=';' read -ra pairs <<<"$parameters"
for pair in "${pairs[@]}"; do [ -n "$pair" ] && settings+=" -set ${pair%%=*} ${pair#*=}"; done

# ROM files are looked for in the current folder. -nosrl: yosys 0.23 builds SRLs from registers with a
# clock enable and drops the enable without a word (a netlist simulation under back-pressure shows it).
yosys -q -l "$name.log" -p "
  read_verilog -sv -noassert $*
  ${settings:+chparam $settings $top}
  hierarchy -top $top
  rename -top $top
  synth_xilinx -noiopad -nosrl -flatten -family $family -top $top
  tee -q -o $name.txt stat
  write_verilog -noattr $name.v
" >/dev/null || { tail -n 20 "$name.log"; exit 1; }

# Each primitive and what it costs. A RAM32M is four LUTs, a RAM64M too; a RAM with two ports is two.
counts=$(awk '
  /^ +[A-Z0-9_]+ +[0-9]+$/ {
    n = $2
    if ($1 ~ /^LUT[1-6]$/) lut += n
    else if ($1 ~ /^(INV)$/) lut += n
    else if ($1 ~ /^FD[A-Z]+E?(_1)?$/) ff += n
    else if ($1 ~ /^DSP48/) dsp += n
    else if ($1 ~ /^RAMB36/) bram += n
    else if ($1 ~ /^RAMB18/) bram += n / 2
    else if ($1 ~ /^SRL/) ram += n
    else if ($1 ~ /^RAM(32|64)M$/) ram += 4 * n
    else if ($1 ~ /^RAM(32|64)M16$/) ram += 8 * n
    else if ($1 ~ /^RAM(32|64)X1D/) ram += 2 * n
    else if ($1 ~ /^RAM128X1D/) ram += 4 * n
  }
  END { printf "LUT=%d FF=%d DSP=%d BRAM=%g LUTRAM=%d\n", lut + ram, ff, dsp, bram, ram }' "$name.txt")
echo "$(basename "$name") ($family): $counts"

IFS=';' read -ra conditions <<<"$expected"
for condition in "${conditions[@]}"; do
  kind=${condition%%[<=]*}
  bound=${condition##*=}
  count=$(sed -E "s/(.* )?$kind=([0-9.]+).*/\2/" <<<"$counts")
  case $condition in
    *'<='*)
      ok=$(awk "BEGIN { print ($count <= $bound) }")
      # A bound far above its count could not fail.
      [ "$(awk "BEGIN { print ($bound > 1.1 * $count + 10) }")" = 0 ] || {
        echo "$(basename "$name"): $condition is more than a tenth above $kind $count: lower the bound"
        exit 1
      }
      ;;
    *) ok=$(awk "BEGIN { print ($count == $bound) }") ;;
  esac
  [ "$ok" = 1 ] || { echo "$(basename "$name"): expected $condition, found $kind $count"; exit 1; }
done
