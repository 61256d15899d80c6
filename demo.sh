#!/usr/bin/env bash
# Sets up a fresh Debian 12, builds Tributary and shows it at work; see --help.
set -euo pipefail
cd "$(dirname "$0")"

usage() {
  cat <<'TEXT'
usage: ./demo.sh [lis|ranges|drift|radio|network|federation] [--accelerator cpu|xrt] [--seconds N] [--json [FILE]]
       ./demo.sh federation [--data DIR] [--features N] [--encoding E] [--local-steps N]

  lis      (default) four antenna panels locate sixteen users of a simulated room, at the full rate:
           a slot each 0.5 ms, 128,000 tuples/s in, 32,000 fused positions/s out
  ranges   two boards of four UWB anchors each replay a recorded run; trained on its first half,
           shown on its second. The recording is found through TRIBUTARY_DATA_DIR.
  drift    a board of three UWB anchors of the same run; one of them is moved, the board finds it out
           by labelled ranges and learns while it goes on. At least 60 s
  radio    four receivers hear emitters that change modulation and strength, and fuse the probabilities of
           ten modulations; compared with one receiver alone and with its vote of ten
  network  four nodes learn a classifier of drawn glyphs together; exported as ONNX, it runs on four nodes
           that see other glyphs, and what they say is fused; compared with one node alone
  federation
           five nodes with different images train one encoder together and send parameters only; compared
           with one that each node trains alone; KMNIST through TRIBUTARY_DATA_DIR, else built-in drawn glyphs

  --accelerator xrt
                not for federation: the kernels' RTL computes, simulated on a software device under the real XRT;
                needs a machine that can build the RTL. lis and radio have four users or emitters then and five
                slots a second, ranges and drift have boards of three anchors with the network of the kernel.
                network quantises the classifier for the tensor unit and runs it on a slot a second
  --data DIR    federation only: a folder with an idx image set, as train-images-idx3-ubyte.gz (idx4: in colour)
  --features N  federation only: 64 (default), 256 or 576 of an image; the more there are, the less is
                left to learn: a linear layer tells most of the digits of MNIST from 576 random ones
  --encoding E  federation only: how updates travel: float32 (default), float16, int12, int8 or topk
  --local-steps N
                federation only: of each of the 40 rounds (default: as many as the time allows)
  --seconds N   how long to measure (default 20; drift 60; federation 300, which is for both trainings)
  --json [FILE] also write the figures as JSON; without FILE to standard output, and all else to standard
                error

examples:
  ./demo.sh
  ./demo.sh --seconds 60 --json out.json
  ./demo.sh --accelerator xrt --seconds 20
  ./demo.sh radio --accelerator xrt
  ./demo.sh network --json network.json
  ./demo.sh network --accelerator xrt
  TRIBUTARY_DATA_DIR=../shared/data ./demo.sh ranges
  TRIBUTARY_DATA_DIR=../shared/data ./demo.sh ranges --accelerator xrt
  TRIBUTARY_DATA_DIR=../shared/data ./demo.sh drift --json | jq .retrained
  ./demo.sh federation --data mnist --features 576 --encoding int8
TEXT
}

fault() {
  echo "demo.sh: $1" >&2
  usage >&2
  exit 64
}

demo=lis
accelerator=cpu
seconds=
json=
data=
features=64
encoding=float32
local_steps=0
while [ $# -gt 0 ]; do
  case $1 in
    lis | ranges | drift | radio | network | federation) demo=$1 ;;
    --accelerator)
      accelerator=${2:-}
      [[ $accelerator == cpu || $accelerator == xrt ]] || fault "--accelerator is cpu or xrt, found \"$accelerator\""
      shift
      ;;
    --seconds)
      seconds=${2:-}
      [[ $seconds =~ ^[1-9][0-9]*$ ]] || fault "--seconds needs a whole number of at least 1, found \"$seconds\""
      shift
      ;;
    --json)
      json=/dev/fd/3
      if [[ -n ${2:-} && $2 != -* ]]; then
        json=$2
        shift
      fi
      ;;
    --data)
      data=${2:-}
      [ -n "$data" ] || fault "--data needs a folder"
      shift
      ;;
    --features)
      features=${2:-}
      [[ $features == 64 || $features == 256 || $features == 576 ]] || fault "--features is 64, 256 or 576, found \"$features\""
      shift
      ;;
    --encoding)
      encoding=${2:-}
      [[ $encoding =~ ^(float32|float16|int12|int8|topk)$ ]] || fault "--encoding is float32, float16, int12, int8 or topk, found \"$encoding\""
      shift
      ;;
    --local-steps)
      local_steps=${2:-}
      [[ $local_steps =~ ^[1-9][0-9]*$ ]] || fault "--local-steps needs a whole number of at least 1, found \"$local_steps\""
      shift
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *) fault "unknown argument \"$1\"" ;;
  esac
  shift
done

[[ $demo != federation || $accelerator == cpu ]] || fault "$demo runs with --accelerator cpu only"

[[ $demo == federation || $data$features$encoding$local_steps == 64float320 ]] ||
  fault "--data, --features, --encoding and --local-steps are for federation"
if [ "$demo" = federation ]; then
  arguments=("${seconds:-300}" "$json" "$data" "$features" "$encoding" "$local_steps")
else
  [ "$demo" != drift ] || seconds=${seconds:-60}
  arguments=("${seconds:-20}" "$json" "$accelerator")
fi

[ "$json" != /dev/fd/3 ] || exec 3>&1 >&2

packages=(deploy/packages.txt deploy/packages-page.txt)
options=()
targets=(tributary tributary-node tributary-aggregator)
if [ "$accelerator" = xrt ]; then
  packages+=(deploy/packages-fpga.txt)
  options=(-DTRIBUTARY_RTL=ON -DTRIBUTARY_XRT=ON)
  targets+=(tributary-xclbin xrt_core)
fi
deploy/install-packages.sh "${packages[@]}"
deploy/build.sh release "${options[@]}" "${targets[@]}"
exec "deploy/demo/$demo.sh" "${arguments[@]}"
