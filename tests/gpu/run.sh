#!/usr/bin/env bash
# Runs everything in this folder on this machine's GPUs, prints the results and writes them to results.md in the same folder.
#
#     ./run.sh [--tiny]        --tiny: for a simulated GPU, on which a suite has run every program: the benchmark with its
#                              sizes, one C++ program, and the cases in C and Zig
#
# Needs bash, coreutils, tar, gzip, xz and a driver; `cargo xtask gpu` packs the rest. Each step has a time limit, and all steps
# together have one too. The exit status is 0 if nothing failed. The output of each program is kept in logs/.
set -u
cd "$(dirname "$0")" || exit 2
# A cuBLASLt in the caller's path is found.
export LD_LIBRARY_PATH="$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" TENSORLIB_CASES="$PWD/cases"
unset TENSORLIB_ISA TENSORLIB_DEVICE

total=460 # seconds
tiny=() of_cuda='bin/cuda_*' with_cases=(c cpp rust go zig)
case "${1-}" in
'') ;;
--tiny) tiny=(--tiny) of_cuda=bin/cuda_backend_test with_cases=(c zig) ;;
*) echo "usage: ./run.sh [--tiny]" >&2 && exit 2 ;;
esac
mkdir -p logs || exit 2
: >results.md || exit 2
# Each time: a later package may have come into the same folder.
if ! { [[ -f contents.tar.xz ]] && rm -rf bin lib cases && tar -xJf contents.tar.xz; }; then
    echo "contents.tar.xz is not here or cannot be unpacked: cargo xtask gpu packs it" >&2
    exit 2
fi
# After the archive is unpacked, which has them.
shopt -s nullglob
programs=($of_cuda)
shopt -u nullglob
if ((${#programs[@]} == 0)); then
    echo "the package has no $of_cuda: cargo xtask gpu packs them" >&2
    exit 2
fi
passed=0 failed=0 skipped=0

say() { printf '%s\n' "$@" | tee -a results.md; }

# The value of KEY in the file that says what was packed.
about() {
    local line
    while IFS= read -r line; do
        [[ $line == "$1="* ]] && printf '%s' "${line#*=}" && return
    done <about
}

# step SECONDS NAME COMMAND...: runs it into logs/NAME.log. Sets status and seconds; 124 where the time was up.
step() {
    local limit=$1 name=$2 start=$SECONDS
    shift 2
    local left=$((total - SECONDS))
    if ((left < 1)); then
        echo "not started: the $total s for everything were up" >"logs/$name.log"
        status=124 seconds=0
        return
    fi
    timeout -k 5 "$((left < limit ? left : limit))" "$@" >"logs/$name.log" 2>&1 </dev/null
    status=$?
    seconds=$((SECONDS - start))
}

# Why a step failed, in a few words.
why() {
    if ((status == 124 || status == 137)); then
        echo "stopped after $seconds s"
    else
        local line last=
        while IFS= read -r line; do [[ -n $line ]] && last=$line; done <"logs/$1.log"
        echo "exit status $status: ${last:0:200}"
    fi
}

# counts NAME: the numbers in logs/NAME.log, of a line of counts or of GoogleTest's summary. Sets n_passed, n_failed,
# n_skipped; fails where there are none, so that a crash is no pass.
counts() {
    local line found=1
    n_passed=0 n_failed=0 n_skipped=0
    while IFS= read -r line; do
        if [[ $line =~ ^(.*cases\ .*:\ )?([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
            n_passed=${BASH_REMATCH[2]} n_failed=${BASH_REMATCH[3]} n_skipped=${BASH_REMATCH[4]}
            return 0
        elif [[ $line =~ ^\[\ \ PASSED\ \ \]\ ([0-9]+)\ test ]]; then
            n_passed=${BASH_REMATCH[1]} found=0
        elif [[ $line =~ ^\[\ \ FAILED\ \ \]\ ([0-9]+)\ test ]]; then
            n_failed=${BASH_REMATCH[1]}
        elif [[ $line =~ ^\[\ \ SKIPPED\ \]\ ([0-9]+)\ test ]]; then
            n_skipped=${BASH_REMATCH[1]}
        fi
    done <"logs/$1.log"
    return $found
}

# tests SECONDS NAME COMMAND...: a test program's row.
tests() {
    local name=$2 remark=
    step "$@"
    if ! counts "$name" || ((status != 0 && n_failed == 0)); then
        n_failed=$((n_failed + 1))
    fi
    ((n_failed > 0)) && remark=$(why "$name")
    passed=$((passed + n_passed)) failed=$((failed + n_failed)) skipped=$((skipped + n_skipped))
    say "| $name | $n_passed | $n_failed | $n_skipped | $seconds | $remark |"
}

# check TITLE OUTCOME: a line of our own; the outcome is empty where it held.
check() {
    if [[ -z $2 ]]; then
        passed=$((passed + 1))
        say "- $1: yes"
    else
        failed=$((failed + 1))
        say "- $1: NO: $2"
    fi
}

finish() {
    say "" "$passed passed, $failed failed, $skipped skipped, in $SECONDS s"
    exit $((failed != 0))
}

say "# tensorlib on a GPU" ""
say "- date: $(date -u +%Y-%m-%d)"
if command -v nvidia-smi >/dev/null; then
    if step 20 nvidia-smi nvidia-smi --query-gpu=name,driver_version,memory.total,compute_cap --format=csv,noheader && ((status == 0)); then
        while IFS= read -r card; do say "- card, driver, memory, compute capability: $card"; done <logs/nvidia-smi.log
    else
        say "- card: nvidia-smi says nothing: $(why nvidia-smi)"
    fi
else
    say "- card: unknown, nvidia-smi is not here"
fi
say "- machine: $(uname -srm), $(nproc) processors"
say "- package: commit $(about commit), built for $(about built_for)"

step 60 devices bin/devices
gpus=()
while IFS= read -r device; do [[ $device == cuda:* ]] && gpus+=("$device"); done <logs/devices.log
if ((${#gpus[@]} == 0)); then
    TENSORLIB_DEVICE=cuda:0 step 20 why bin/c_cases cases
    check "a GPU is there" "$(why why)"
    finish
fi
say "- devices: ${gpus[*]}"

say "" "## Tests" "" "| program | passed | failed | skipped | seconds | |" "|---|---|---|---|---|---|"
for program in "${programs[@]}"; do
    tests 90 "${program#bin/}" "$program" --gtest_color=no
done
tests 60 c_bad_input bin/c_bad_input
uneven=
for gpu in "${gpus[@]}"; do
    export TENSORLIB_DEVICE=$gpu
    for language in "${with_cases[@]}"; do
        case $language in
        cpp) arguments=(--gtest_color=no) ;;
        rust) arguments=(--nocapture) ;;
        go) arguments=(-test.run '^TestCases$' -test.v) ;;
        *) arguments=("$PWD/cases") ;;
        esac
        tests 45 "${language}_cases-${gpu/:/}" "bin/${language}_cases" "${arguments[@]}"
        ((n_passed == $(about cases) && n_failed == 0 && n_skipped == 0)) || uneven+="$language on $gpu: $n_passed; "
    done
done
say ""
check "each language passed all $(about cases) cases on each GPU" "$uneven"

say "" "## Digits" ""
right="accuracy 96.24 % (767 of 797)"
for gpu in "${gpus[@]}"; do
    for language in c cpp rust go zig; do
        name="${language}_digits-${gpu/:/}"
        step 30 "$name" "bin/${language}_digits" --device "$gpu" --file "$PWD/digits.csv"
        if [[ $status == 0 && $(<"logs/$name.log") == *"$right"* ]]; then
            check "$language on $gpu: $right" ""
        else
            check "$language on $gpu: $right" "$(why "$name")"
        fi
    done
done

say "" "## compute-sanitizer" ""
# The machine's own goes with its driver, so it comes first.
sanitizer=$(command -v compute-sanitizer)
for place in /usr/local/cuda/bin /usr/local/cuda/compute-sanitizer /opt/cuda/bin; do
    [[ -z $sanitizer && -x $place/compute-sanitizer ]] && sanitizer=$place/compute-sanitizer
done
if [[ -z $sanitizer && -f sanitizer.tar.gz ]]; then
    rm -rf sanitizer && step 30 unpack tar -xzf sanitizer.tar.gz
    ((status == 0)) || say "It was packed, but could not be unpacked: $(why unpack)" ""
fi
[[ -z $sanitizer && -x sanitizer/compute-sanitizer ]] && sanitizer=$PWD/sanitizer/compute-sanitizer
if [[ -z $sanitizer ]]; then
    say "It is not on this machine and was not packed, so none of its tools ran: \`cargo xtask gpu --with-sanitizer\`."
else
    export TENSORLIB_DEVICE=${gpus[0]}
    for tool in memcheck racecheck initcheck synccheck; do
        step 90 "sanitizer-$tool" "$sanitizer" --tool "$tool" --error-exitcode 9 bin/c_cases "$PWD/cases"
        if [[ $status == 0 ]] && counts "sanitizer-$tool" && ((n_failed == 0)); then
            check "$tool over the cases in C, $seconds s" ""
        else
            check "$tool over the cases in C" "$(why "sanitizer-$tool")"
        fi
    done
fi

say "" "## Benchmark" ""
step 150 bench bin/bench --device "${gpus[0]}" --seconds 1 "${tiny[@]}"
while IFS= read -r line; do say "$line"; done <logs/bench.log
outcome=
((status != 0)) && outcome=$(why bench)
say ""
check "the benchmark's results are right" "$outcome"
finish
