#!/usr/bin/env bash
# Runs the programs of this bundle on a machine with an NVIDIA driver and NVRTC, and no Rust.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# Without a usable GPU the tests fail here, where elsewhere they would say that they were skipped.
export SCAN_TESTS_REQUIRE_GPU=1

usage() {
    cat <<'TEXT'
./run.sh [tests] [ARGUMENTS]   the GPU tests; arguments go to the test program (a name to filter by). They are shared out
                               over as many processes as the cores can bear
./run.sh older [ARGUMENTS]     those of them that run what devices of sm_75 and sm_80 would: planned for their limits, compiled to
                               PTX, finished by the driver. `./run.sh sanitize older/` has them under the sanitizer
./run.sh sanitize [TOOL...] [ARGUMENTS]
                               the GPU tests but the large ones and the faults, under compute-sanitizer's four tools, or those named:
                               memcheck, racecheck, initcheck, synccheck; as many processes as there are cores
./run.sh bench [ARGUMENTS]     the benches
./run.sh peers [ARGUMENTS]     the bench beside a copy and CUB; `--quick` for less than a minute, `--out DIR` for files
./run.sh calls [ARGUMENTS]     the bench of calls, first and later ones, and the same with what Python has. `bundle -- --wheels` takes
                               cuda.compute along for that
./run.sh axis                  scans along an axis, of arrays of many shapes, and the same with torch and jax
./run.sh training              recurrences forward and backward, and the same with torch and jax
./run.sh profile OPERATOR...   what bounds look-ahead for these operators of the bench `peers`, at 2^28 elements, by Nsight
                               Compute's counters: memory, issue slots and pipes in percent of the most, why warps wait.
                               Names after `gallery` are those of the tests' gallery, at 2^27, names after `engine` those of that
                               bench, at 2 GiB. SIZES and KERNEL choose others
./run.sh soak [ARGUMENTS]      generated kernels in the emulator, on all cores: `--minutes N`, or `--length N` for every strategy
                               once; needs a C++ compiler
./run.sh scan [ARGUMENTS]      the program scan: what it finds on this machine; `bench sum f32` and others by its arguments
./run.sh example [ARGUMENTS]   the examples
TEXT
}

# Runs each program of a folder, the rest of the arguments going to each.
each() {
    local folder=$1 program found=no
    shift
    for program in "$here/$folder"/*; do
        [ -x "$program" ] || continue
        found=yes
        printf '== %s\n' "${program##*/}"
        "$program" "$@"
    done
    [ "$found" = yes ] || { echo "this bundle has no $folder" >&2; return 1; }
}

sanitizer() {
    local candidate
    for candidate in compute-sanitizer "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer" \
        /usr/local/cuda*/compute-sanitizer/compute-sanitizer; do
        if command -v "$candidate" >/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    echo "compute-sanitizer is not on this machine; it comes with the CUDA toolkit" >&2
    return 1
}

# Where the programs' output goes.
logs=${OUT:-$(mktemp -d)}/logs

# Starts the GPU tests in several processes with a share of them each: in_shards NAME PROCESSES THREADS [ARGUMENTS]. One
# process would wait for itself: its threads share a context. What stands in the array `under` goes before the program; where
# `devices` is more than one, each process sees one of so many.
declare -A running=()
devices=1
in_shards() {
    local name=$1 shards=$2 threads=$3 shard trials
    shift 3
    mkdir -p "$logs"
    # No more processes than there are trials: each takes seconds to begin, under the sanitizer above all.
    trials=$("$here/tests/gpu" --list "$@" | grep -c ': test$' || true)
    [ "$shards" -le "$trials" ] || shards=$((trials > 0 ? trials : 1))
    for ((shard = 1; shard <= shards; shard++)); do
        [ "$devices" -le 1 ] || export CUDA_VISIBLE_DEVICES=$((shard % devices))
        SCAN_TESTS_SHARD=$shard/$shards "${under[@]}" "$here/tests/gpu" --test-threads "$threads" "$@" \
            >"$logs/$name-$shard.txt" 2>&1 &
        running["$name-$shard"]=$!
    done
}

# Waits for all that was started, and shows the end of what failed and the sums of these names.
finish() {
    local shard name failed=0
    for shard in "${!running[@]}"; do
        if ! wait "${running[$shard]}"; then
            failed=1
            printf '== %s failed\n' "$shard"
            tail -n 40 "$logs/$shard.txt"
        fi
    done
    for name in "$@"; do
        awk -v name="$name" '/^test result:/ { passed += $4; failed += $6 } /SUMMARY:/ { sub(/.*SUMMARY: /, ""); found += $1; any = 1 }
            END { printf "%s: %d tests passed, %d failed", name, passed, failed; if (any) printf ", %d errors found", found; print "" }' \
            "$logs/$name"-*.txt
    done
    echo "everything they wrote is in $logs"
    return $failed
}

# An odd number of processes: short and long trials take turns in the list that is shared out, and each needs some of both.
share_of_cores() {
    echo $(($(nproc) / $1 | 1))
}

# What older devices would run is left out unless it is asked for.
not_older() {
    [[ " $* " == *older/* ]] || echo --skip older/
}

# tests NAME [ARGUMENTS]
tests() {
    local name=$1
    shift
    under=()
    devices=$(nvidia-smi --list-gpus 2>/dev/null | wc -l)
    # shellcheck disable=SC2046 # several words, or none
    in_shards "$name" "$(share_of_cores 2)" 2 $(not_older "$@") "$@"
    finish "$name"
    # What takes the whole device, and what wants two.
    unset CUDA_VISIBLE_DEVICES
    [ $# -gt 0 ] || "$here/tests/gpu" alone_
}

sanitize() {
    local checker tools=() tool unfollowed
    checker=$(sanitizer)
    while [[ ${1:-} =~ ^(memcheck|racecheck|initcheck|synccheck)$ ]]; do
        tools+=("$1")
        shift
    done
    [ ${#tools[@]} -gt 0 ] || tools=(memcheck racecheck initcheck synccheck)
    devices=$(nvidia-smi --list-gpus 2>/dev/null | wc -l)
    for tool in "${tools[@]}"; do
        under=("$checker" --tool "$tool" --error-exitcode 1)
        # Errors of calls are the tests' own subject, and each costs seconds in which the tool looks up names.
        [ "$tool" != memcheck ] || under+=(--report-api-errors no)
        # It does not follow bulk copies: what look-ahead has written to fresh memory counts as not written.
        unfollowed=()
        [ "$tool" != initcheck ] || unfollowed=(--skip "kept_workspace: look-ahead" --skip "one_scanner_many_streams: look-ahead")
        # One thread each: the sanitizer has been seen to lose track of launches of several.
        # shellcheck disable=SC2046 # several words, or none
        in_shards "$tool" "$(share_of_cores ${#tools[@]})" 1 $(not_older "$@") --skip large --skip fault_ --skip alone_ "${unfollowed[@]}" "$@"
    done
    finish "${tools[@]}"
}

calls() {
    "$here/benches/calls" --bench "$@"
    command -v python3 >/dev/null || { echo "the peers need python3"; return; }
    if compgen -G "$here/wheels/*.whl" >/dev/null; then
        local site
        site=$(mktemp -d)
        python3 -m pip install -q --no-index --no-deps --target "$site" "$here"/wheels/*.whl
        export PYTHONPATH=$site${PYTHONPATH:+:$PYTHONPATH}
    fi
    python3 "$here/benches/calls.py"
}

# Counters of one launch for each operator, a table a line each.
profile() {
    local ncu operator metrics kernel=${KERNEL:-scan_look_ahead} pipe stall program of=peers
    ncu=$(command -v ncu || ls -d "${CUDA_HOME:-/usr/local/cuda}"/bin/ncu 2>/dev/null) ||
        { echo "ncu is not on this machine; it comes with the CUDA toolkit" >&2; return 1; }
    metrics=gpu__time_duration.sum,dram__throughput.avg.pct_of_peak_sustained_elapsed
    metrics+=,sm__inst_issued.avg.pct_of_peak_sustained_elapsed,smsp__inst_executed.sum
    for pipe in alu fma fmaheavy fp64 xu; do
        metrics+=,sm__inst_executed_pipe_$pipe.avg.pct_of_peak_sustained_active
    done
    metrics+=,sm__pipe_fmaheavy_cycles_active.avg.pct_of_peak_sustained_active
    metrics+=,l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed,smsp__inst_executed_op_local_ld.sum,smsp__inst_executed_op_local_st.sum
    metrics+=,sm__warps_active.avg.pct_of_peak_sustained_active,launch__registers_per_thread
    for stall in barrier long_scoreboard short_scoreboard math_pipe_throttle mio_throttle no_instruction not_selected wait sleeping; do
        metrics+=,smsp__average_warps_issue_stalled_${stall}_per_issue_active.ratio
    done
    for operator in "$@"; do
        case $operator in
        gallery | engine)
            of=$operator
            continue
            ;;
        esac
        printf '== %s\n' "$operator"
        case $of in
        gallery) program=("$here/benches/engine" --bench operators longest "$operator") ;;
        engine) program=("$here/benches/engine" --bench default "$operator") ;;
        *) program=("$here/benches/peers" --bench --operator "$operator" --sizes "${SIZES:-28}" --parts sizes --modes stream --rounds 2) ;;
        esac
        # Clocks and caches are left as they are in use.
        "$ncu" --clock-control none --cache-control none -k "regex:$kernel" --launch-skip 2 --launch-count 1 --csv --metrics "$metrics" "${program[@]}" |
            awk -F'","' '/^"[0-9]/ { gsub(/"/, "", $NF); printf "%-70s %s %s\n", $(NF-2), $NF, $(NF-1) }'
    done
}

what=${1:-tests}
[ $# -eq 0 ] || shift
case $what in
tests) tests tests "$@" ;;
older) tests older older/ "$@" ;;
sanitize) sanitize "$@" ;;
bench) each benches --bench "$@" ;;
profile) profile "$@" ;;
peers) "$here/benches/peers" --bench "$@" ;;
calls) calls "$@" ;;
axis)
    "$here/benches/engine" axis axis-f32 axis-f16 axis-affine axis-recurrence
    python3 "$here/benches/axis.py"
    ;;
training)
    "$here/benches/engine" training
    python3 "$here/benches/training.py"
    ;;
soak) "$here/programs/soak" "$@" ;;
scan) "$here/programs/scan" "$@" ;;
example) each examples "$@" ;;
help | -h | --help) usage ;;
*)
    usage >&2
    exit 2
    ;;
esac
