#!/usr/bin/env bash
# Runs the programs of this bundle on a machine with an NVIDIA driver and NVRTC, and no Rust.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# Without a usable GPU the tests fail here, where elsewhere they would say that they were skipped.
export SCAN_TESTS_REQUIRE_GPU=1

usage() {
    cat <<'TEXT'
./run.sh [tests] [ARGUMENTS]   the GPU tests; arguments go to the test program (a name to filter by)
./run.sh sanitize [ARGUMENTS]  the GPU tests but the large ones, under compute-sanitizer's four tools
./run.sh bench [ARGUMENTS]     the benches
./run.sh peers [ARGUMENTS]     the bench beside a copy and CUB; `--quick` for less than a minute, `--out DIR` for files
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

what=${1:-tests}
[ $# -eq 0 ] || shift
case $what in
tests) each tests "$@" ;;
sanitize)
    checker=$(sanitizer)
    failed=()
    for tool in memcheck racecheck initcheck synccheck; do
        printf '== %s\n' "$tool"
        "$checker" --tool "$tool" --error-exitcode 1 "$here/tests/gpu" --skip large "$@" ||
            failed+=("$tool")
    done
    if [ ${#failed[@]} -gt 0 ]; then
        echo "failed under: ${failed[*]}" >&2
        exit 1
    fi
    ;;
bench) each benches --bench "$@" ;;
peers) "$here/benches/peers" --bench "$@" ;;
example) each examples "$@" ;;
help | -h | --help) usage ;;
*)
    usage >&2
    exit 2
    ;;
esac
