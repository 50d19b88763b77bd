//! Copies of an array tile by tile, in the ways in which a scan along an axis could move it: what each reaches at most.

use std::{ffi::c_void, ptr, sync::Arc};

use rayon::prelude::*;
use scan_codegen::{DeviceLimits, Overrides, ScanSpec, plan_columns, render_columns};
use scan_runtime::{
    ScanOp, Scanner,
    cudarc::{
        driver::{CudaFunction, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, result, sys::CUfunction_attribute},
        nvrtc::Ptx,
    },
    nvrtc, ops,
};

use scan_tests::operators::TestOperator;

use super::{Outcome, filled, median, sample};

/// How, bytes of a tile's row, rows of a tile, stages, threads of a block, blocks of a multiprocessor.
type Way = (u32, u32, u32, u32, u32, u32);

const BULK: u32 = 0;
const THROUGH_L1: u32 = 1;
const PAST_L1: u32 = 2;

const WAYS: [Way; 22] = [
    (BULK, 128, 256, 3, 32, 2),
    (BULK, 128, 512, 3, 32, 1),
    (BULK, 256, 64, 3, 32, 4),
    (BULK, 256, 96, 3, 32, 2),
    (BULK, 256, 128, 3, 32, 2),
    (BULK, 256, 128, 6, 32, 1),
    (BULK, 256, 256, 3, 32, 1),
    (BULK, 512, 64, 3, 32, 2),
    (BULK, 512, 128, 3, 32, 1),
    (BULK, 1024, 32, 3, 32, 2),
    (BULK, 2048, 16, 3, 32, 2),
    (THROUGH_L1, 256, 64, 3, 128, 4),
    (THROUGH_L1, 256, 96, 3, 128, 2),
    (THROUGH_L1, 256, 128, 3, 128, 2),
    (PAST_L1, 128, 192, 3, 128, 2),
    (PAST_L1, 256, 64, 3, 128, 4),
    (PAST_L1, 256, 96, 3, 128, 2),
    (PAST_L1, 256, 128, 3, 128, 2),
    (PAST_L1, 256, 128, 3, 256, 2),
    (PAST_L1, 512, 32, 3, 128, 4),
    (PAST_L1, 512, 48, 3, 128, 2),
    (PAST_L1, 1024, 32, 3, 256, 2),
];

/// Rows, and bytes of a row.
const ARRAYS: [(usize, usize); 3] = [(24576, 6144), (49152, 16384), (3072, 262144)];

fn compiled(scanner: &Scanner, way: Way) -> Outcome<CudaFunction> {
    let (mode, row, rows, stages, threads, resident) = way;
    let plan = plan_columns(
        &ops::Sum::<f32>::new().source(),
        &ScanSpec::inclusive(),
        &DeviceLimits::H200,
        &Overrides::default(),
    )?;
    let mut source = render_columns(&ops::Sum::<f32>::new().source(), &plan)?;
    let kernel = source.kernel_name(plan.kernels()[0]);
    let defines =
        [("MODE", mode), ("W", row), ("H", rows), ("STAGES", stages), ("THREADS", threads), ("RESIDENT", resident)];
    let defines: String = defines.iter().map(|(name, number)| format!("#define {name} {number}\n")).collect();
    source.text = format!("{defines}#define KERNEL {kernel}\n{}", include_str!("axis_copies.cu"));
    let context = scanner.context().ok_or("no CUDA context")?;
    context.bind_to_thread()?;
    let cubin = nvrtc::compile(&source, "copies", scanner.limits().architecture)?.cubin;
    let function = context.load_module(Ptx::from_binary(cubin))?.load_function(&kernel)?;
    let dynamic = (row * rows * stages) as i32;
    function.set_attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic)?;
    Ok(function)
}

fn launch(
    stream: &Arc<CudaStream>,
    function: &CudaFunction,
    way: Way,
    (rows, row): (usize, usize),
    input: &CudaSlice<u32>,
    output: &mut CudaSlice<u32>,
) -> Outcome {
    let (_, tile_row, tile_rows, stages, threads, resident) = way;
    let ((input, _reading), (output, _writing)) = (input.device_ptr(stream), output.device_ptr_mut(stream));
    let mut scalars = [input, output, rows as u64, row as u64];
    let mut pointers: Vec<*mut c_void> = scalars.iter_mut().map(|scalar| ptr::from_mut(scalar).cast()).collect();
    let (grid, block) = ((132 * resident, 1, 1), (threads, 1, 1));
    let shared = tile_row * tile_rows * stages;
    // SAFETY: these are the kernel's parameters, and the buffers are as long as the array.
    unsafe { result::launch_kernel(function.cu_function(), grid, block, shared, stream.cu_stream(), &mut pointers)? };
    Ok(())
}

pub(super) fn sweep(scanner: &Scanner) -> Outcome {
    let stream = scanner.context().ok_or("no CUDA context")?.new_stream()?;
    let longest = ARRAYS.iter().map(|(rows, row)| rows * row / 4).max().unwrap_or(0);
    let block: Vec<u32> = (0..1_999_993_u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    let input = filled(&stream, &block, longest)?;
    let mut output = stream.alloc_zeros::<u32>(longest)?;
    let functions: Vec<_> =
        WAYS.into_par_iter().map(|way| compiled(scanner, way).map_err(|error| error.to_string())).collect();
    println!("| array | how, tile row, rows, stages, threads, resident | copy, µs | tiles, µs | ratio |");
    println!("|---|---|---:|---:|---:|");
    for array in ARRAYS {
        let len = array.0 * array.1 / 4;
        for (way, function) in WAYS.into_iter().zip(&functions) {
            let function = match function {
                Ok(function) => function,
                Err(error) => {
                    println!("| {array:?} | {way:?} | {error} |");
                    continue;
                }
            };
            let (mut copies, mut tiles) = (Vec::new(), Vec::new());
            let run = |output: &mut CudaSlice<u32>, kernel: bool| {
                sample(&stream, || {
                    if kernel {
                        return launch(&stream, function, way, array, &input, output);
                    }
                    Ok(stream.memcpy_dtod(&input.slice(..len), &mut output.slice_mut(..len))?)
                })
            };
            stream.memset_zeros(&mut output)?;
            run(&mut output, true)?;
            let last = stream.clone_dtoh(&output.slice(len - 4096..len))?;
            let right = (len - 4096..len).zip(last).all(|(i, found)| found == block[i % block.len()]);
            for _ in 0..3 {
                copies.push(run(&mut output, false)?);
                tiles.push(run(&mut output, true)?);
            }
            let (copy, tiles) = (median(copies), median(tiles));
            let verdict = if right { "" } else { " WRONG" };
            println!("| {array:?} | {way:?} | {copy:.1} | {tiles:.1} | {:.3}{verdict} |", copy / tiles);
        }
    }
    Ok(())
}
