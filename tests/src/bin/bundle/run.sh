#!/usr/bin/env bash
# Runs the programs of this bundle on a machine with an NVIDIA driver and NVRTC, and no Rust.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# Without a usable GPU the tests fail here, where elsewhere they would say that they were skipped.
export SCAN_TESTS_REQUIRE_GPU=1

usage() {
    cat <<'TEXT'
./run.sh [tests] [ARGUMENTS]   the GPU tests; arguments go to the test program (a name to filter by)
./run.sh sanitize [TOOL...] [ARGUMENTS]
                               the GPU tests but the large ones, under compute-sanitizer's four tools, or those named:
                               memcheck, racecheck, initcheck, synccheck; as many processes as there are cores
./run.sh bench [ARGUMENTS]     the benches
./run.sh example [ARGUMENTS]   the examples
TEXT
}

# Runs each program of a folder, the rest of the arguments going to each.
each() {
    local folder=$1 program found=no
    shift
    for program in "$here/$folder"/*; do
        [ -f "$program" ] || continue
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

# Runs the tests under each tool, in several processes with a share of the tests each. Their output goes to a folder; that of
# the failed ones to the terminal as well.
sanitize() {
    local checker tools=() shards logs tool shard failed=0
    local -A running=()
    checker=$(sanitizer)
    while [[ ${1:-} =~ ^(memcheck|racecheck|initcheck|synccheck)$ ]]; do
        tools+=("$1")
        shift
    done
    [ ${#tools[@]} -gt 0 ] || tools=(memcheck racecheck initcheck synccheck)
    shards=$(($(nproc) / ${#tools[@]}))
    [ "$shards" -gt 0 ] || shards=1
    logs=${OUT:-$(mktemp -d)}/sanitizer
    mkdir -p "$logs"
    for tool in "${tools[@]}"; do
        for ((shard = 1; shard <= shards; shard++)); do
            SCAN_TESTS_SHARD=$shard/$shards "$checker" --tool "$tool" --error-exitcode 1 \
                "$here/tests/gpu" --test-threads 2 --skip large "$@" >"$logs/$tool-$shard.txt" 2>&1 &
            running["$tool-$shard"]=$!
        done
    done
    for shard in "${!running[@]}"; do
        if ! wait "${running[$shard]}"; then
            failed=1
            printf '== %s failed\n' "$shard"
            tail -n 40 "$logs/$shard.txt"
        fi
    done
    for tool in "${tools[@]}"; do
        awk -v tool="$tool" '/^test result:/ { passed += $4; failed += $6 } /SUMMARY:/ { sub(/.*SUMMARY: /, ""); found += $1 }
            END { printf "== %s: %d tests passed, %d failed, %d errors found\n", tool, passed, failed, found }' "$logs/$tool"-*.txt
    done
    echo "everything they wrote is in $logs"
    return $failed
}

what=${1:-tests}
[ $# -eq 0 ] || shift
case $what in
tests) each tests "$@" ;;
sanitize) sanitize "$@" ;;
bench) each benches --bench "$@" ;;
example) each examples "$@" ;;
help | -h | --help) usage ;;
*)
    usage >&2
    exit 2
    ;;
esac
