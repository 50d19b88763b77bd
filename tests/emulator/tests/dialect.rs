//! What `dialect.md` says of the dialect is so.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use std::sync::Arc;

use scan_codegen::{Argument, KernelRole, Launch, Schedule, Workspace};
use scan_emulator::{Emulator, EmulatorError, KeptMemory, Memory, Module};

/// A text with these lines before the kernel, and in it.
fn text(outside: &str, inside: &str) -> String {
    format!(
        r#"
struct Sum {{
  __device__ __forceinline__ unsigned identity() const {{ return 0; }}
  __device__ unsigned combine(unsigned a, unsigned b) const {{ return a + b; }}
}};
using State = unsigned;
using Output = unsigned;
{outside}
extern "C" __global__ void __launch_bounds__(32) example(
    const Sum op, const State* __restrict__ input, Output* output) {{
{inside}
}}
"#
    )
}

fn module(outside: &str, inside: &str) -> Result<Arc<Module>, EmulatorError> {
    Module::from_text("example.cu", &text(outside, inside))
}

#[test]
fn the_dialect_is_translated() {
    let outside = r#"
constexpr unsigned THREADS = 32;
struct alignas(8) Pair { unsigned first, second; };
struct View { const State* items; };
enum Kind { EVEN, ODD };
union Bits { unsigned word; float number; };
using Bytes = const unsigned char*;

// An intrinsic is replaced, whatever its definition says.
template <class T>
__device__ __forceinline__ T shuffle_up(const T& value, unsigned delta) { asm volatile("trap;"); return value; }

template <unsigned N>
__device__ State sum_of(const Sum& op, const State (&items)[N]) {
  State sum = op.identity();
  for (unsigned k = 0; k < N; k++) {
    sum = op.combine(sum, items[k]);
  }
  return sum;
}
"#;
    let inside = r#"
  __shared__ State row[THREADS];
  __shared__ alignas(16) State rows[2][THREADS];
  __shared__ Pair pair;
  const unsigned i = threadIdx.x + blockIdx.x * blockDim.x * gridDim.x;
  const View view = {input};
  const State* from = input + i;
  Bytes bytes = (const unsigned char*)from;
  const State* items = (const State*)bytes;
  Pair* place = &pair;
  if (i == 0) {
    pair = Pair{*input, *(input + 1)};
    place->second = place->first;
  }
  row[i] = *items;
  rows[i % 2 == 0 ? EVEN : ODD][i] = view.items[i];
  __syncthreads();
  State own[2] = {row[i], rows[i % 2][i]};
  auto& both = own;
  const State before = shuffle_up(own[0], 1);
  __syncwarp();
  const bool known = ballot(true) == 0xffffffff && sizeof(Pair) == 8 && min(1u, 2u) == 1;
  const Bits bits = {.word = place->second};
  State sum = sum_of(op, both);
  sum = op.combine(sum, i == 0 ? op.identity() : before);
  memcpy(&own[0], &sum, sizeof(unsigned));
  output[i] = known ? own[0] + bits.word : 0;
"#;
    let module = module(outside, inside).unwrap();
    let arguments = vec![Argument::Operator, Argument::Input, Argument::Output];
    let launches = vec![Launch::new(KernelRole::ScanBlock, 1, 32, arguments)];
    let schedule = Schedule { workspace: Workspace::Scratch { bytes: 0 }, launches };
    let input: Vec<u8> = (1..33_u32).flat_map(u32::to_ne_bytes).collect();
    let memory = Memory { input: &input, output_bytes: Some(128), output_element: 4, ..Memory::default() };
    let mut kept = KeptMemory::default();
    let run = Emulator::new(1).run(&module, |_| "example".to_owned(), &schedule, &memory, &mut kept).unwrap();
    // Each twice, the one before it, and the first of all.
    let expected: Vec<u8> = (1..33_u32).flat_map(|x| (2 * x + (x - 1) + 1).to_ne_bytes()).collect();
    assert_eq!(run.output, expected);
}

#[test]
fn code_beyond_the_dialect_is_refused() {
    let inside = [
        "struct Local { int x; };",
        "union Local { int x; };",
        "int* x = new int;",
        "goto end;",
        "asm volatile(\"\");",
        "auto x = input[0];",
        "const auto& x = input[0];",
        "static int x;",
        "volatile int x;",
        "extern __shared__ int x[];",
        "State** x;",
        "input->size();",
        "view.items->first = 1;",
        "view.op.combine(1, 2);",
        "pointer->combine(1, 2);",
        "view.op.identity();",
        "__shared__ int x = 1;",
        "__shared__ int x[1][2][3];",
        "__shared__ int* x;",
        "__shared__ int x[2]; int y = sizeof(x);",
        "int x = sizeof input;",
        "int x = threadIdx.y;",
        "dim3 x = blockDim;",
        "int x = __popc(1);",
        "atomicAdd(output, 1);",
    ];
    let outside = [
        "__device__ int x;",
        "__constant__ int x = 1;",
        "extern \"C\" __global__ int other() {}",
        "extern \"C\" __global__ void other(unsigned*) {}",
    ];
    let refused = inside.iter().map(|lines| ("", *lines)).chain(outside.iter().map(|lines| (*lines, "")));
    for (outside, inside) in refused {
        let result = module(outside, inside);
        assert!(matches!(result, Err(EmulatorError::Unsupported { .. })), "{outside}{inside}: {result:?}");
    }
    for text in ["", "struct Sum { };", "struct Sum { int combine(int a, int b) const; };", "int f( {"] {
        let result = Module::from_text("example.cu", text);
        assert!(matches!(result, Err(EmulatorError::Unsupported { .. })), "{text}: {result:?}");
    }
}

#[test]
fn a_compiler_error_is_an_error() {
    let result = module("", "State& x = output[0];");
    assert!(matches!(result, Err(EmulatorError::Compiler { .. })), "{result:?}");
}
