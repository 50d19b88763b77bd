//! The recorder itself: what it refuses, as the driver does, and that it shows mistakes.

use std::ffi::{CString, c_void};

use scan_runtime::cudarc::{
    driver::{
        CudaContext, CudaFunction, DriverError, result,
        sys::{CUgraphInstantiate_flags, CUresult, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL},
    },
    nvrtc::Ptx,
};
use scan_tests::driver;

use crate::kinds::{Calls, Kinds, OnStream, Outcome};

pub(crate) fn add(kinds: &mut Kinds) {
    kinds.refused("recorder_shows_arguments", arguments);
    kinds.refused("recorder_refuses_what_the_driver_refuses", refusals);
    kinds.refused("recorder_shows_what_is_freed", freed);
}

/// A kernel with parameters of every kind.
const TEXT: &str = r#"recorded: kinds.cu
// struct Commented { int no; };
struct u16 {
  using Repr = unsigned short;
  Repr value;
  static constexpr int BITS = 16;
  friend __device__ u16 operator+(u16 a, u16 b) { return {Repr(a.value + b.value)}; }
};
struct Mixed {
  bool any = false;
  double half;
  u16 many[2][3], one;
  __device__ int get() const { return 1; }
};
static_assert(sizeof(Mixed) == 32 && alignof(Mixed) == 8);
template <class Item, unsigned AFTER>
struct Neighbour {
  const Item* values;
  signed char edge[(sizeof(Item) + 7) / 8 + AFTER];
};
constexpr unsigned DIMENSIONS = 2 * 2;
struct Layout { size_t extents[DIMENSIONS]; int sign; };
using Carry = Mixed;
struct Wrong { int a; };
static_assert(sizeof(Wrong) == 8);
struct Empty {};
extern "C" __global__ void __launch_bounds__(64, 1) kinds(
    const Empty op, Neighbour<Carry, 1> before, const Layout layout, const Carry carry, float x, size_t n, Wrong wrong,
    Unknown unknown) {
  if (n > 0) { x = 1; }
}
"#;

fn function(context: &std::sync::Arc<CudaContext>) -> Result<CudaFunction, Box<dyn std::error::Error>> {
    let text = CString::new(TEXT)?.into_bytes_with_nul();
    Ok(context.load_module(Ptx::from_binary(text))?.load_function("kinds")?)
}

fn launch(on: &OnStream, function: &CudaFunction, threads: u32, shared: u32, place: u64) -> Result<(), DriverError> {
    #[repr(C)]
    struct Mixed(bool, f64, [u16; 7]);
    let mut before = (place, [1_i8, -2, 3, 4, 5, 0, 0, 0]);
    let mut layout = ([7_u64, 0, 8, 0], -5_i64);
    let (mut carry, mut x, mut n) = (Mixed(true, 0.5, [1, 2, 3, 4, 5, 6, 9]), 1.5_f32, u64::MAX);
    let arguments = &mut [
        (&raw mut n).cast::<c_void>(),
        (&raw mut before).cast(),
        (&raw mut layout).cast(),
        (&raw mut carry).cast(),
        (&raw mut x).cast(),
        (&raw mut n).cast(),
        (&raw mut n).cast(),
        (&raw mut n).cast(),
    ];
    let stream = on.stream.cu_stream();
    // SAFETY: nothing is executed, and the arguments have the sizes of the parameters.
    unsafe { result::launch_kernel(function.cu_function(), (2, 1, 1), (threads, 1, 1), shared, stream, arguments) }
}

fn arguments(_: &mut Calls) -> Outcome {
    let on = OnStream::new()?;
    let function = function(on.stream.context())?;
    let items = on.slice("items", &[0_u8; 64])?;
    let place = scan_runtime::cudarc::driver::DevicePtr::device_ptr(&items, &on.stream).0;
    let (launched, record) = driver::record(|| launch(&on, &function, 64, 0, place + 16));
    launched?;
    let expected = "launch kinds on stream: 2 blocks of 64 threads
    op: {}
    before: {values: items+16, edge: [1, -2, 3, 4, 5]}
    layout: {extents: [7, 0, 8], sign: -5}
    carry: {any: 1, half: 0.5, many: [[1, 2, 3], [4, 5, 6]], one: 9}
    x: 1.5
    n: 18446744073709551615
    wrong: unknown: `Wrong` of 4 bytes, not 8
    unknown: unknown: no struct `Unknown`
";
    if record == expected { Ok(()) } else { Err(record.into()) }
}

fn refusals(_: &mut Calls) -> Outcome {
    let on = OnStream::new()?;
    let function = function(on.stream.context())?;
    let is = |found: Result<(), DriverError>, expected: CUresult| match found {
        Err(DriverError(error)) if error == expected => Ok(()),
        other => Err(format!("{other:?}, not {expected:?}")),
    };
    is(launch(&on, &function, 64, (48 << 10) + 1, 0), CUresult::CUDA_ERROR_INVALID_VALUE)?;
    is(launch(&on, &function, 1025, 0, 0), CUresult::CUDA_ERROR_INVALID_VALUE)?;
    on.stream.begin_capture(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
    // SAFETY: nothing uses the memory.
    let allocated = unsafe { result::malloc_sync(8) }.map(drop);
    let waited = on.stream.synchronize();
    on.stream.end_capture(CUgraphInstantiate_flags(0))?;
    is(allocated, CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)?;
    is(waited, CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)?;
    let limited = driver::limit_device_memory(1 << 20);
    // SAFETY: as above.
    is(unsafe { result::malloc_sync(2 << 20) }.map(drop), CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    drop(limited);
    let items = on.slice("items", &[0_u8; 64])?;
    let place = scan_runtime::cudarc::driver::DevicePtr::device_ptr(&items, &on.stream).0;
    // SAFETY: it is refused, because it would write behind the end.
    let set = unsafe { result::memset_d8_async(place + 1, 0, 64, on.stream.cu_stream()) };
    Ok(is(set, CUresult::CUDA_ERROR_INVALID_VALUE)?)
}

fn freed(_: &mut Calls) -> Outcome {
    let on = OnStream::new()?;
    let function = function(on.stream.context())?;
    let items = on.slice("items", &[0_u8; 64])?;
    let place = scan_runtime::cudarc::driver::DevicePtr::device_ptr(&items, &on.stream).0;
    drop(items);
    let (launched, record) = driver::record(|| launch(&on, &function, 64, 0, place));
    launched?;
    if record.contains("values: ?,") { Ok(()) } else { Err(record.into()) }
}
