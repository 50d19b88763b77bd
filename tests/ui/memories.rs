//! Arrays of the other memory, and arrays of another type, where a call takes an array.

use std::sync::Arc;

use scan_runtime::{
    Scanner,
    cudarc::driver::{CudaSlice, CudaStream},
    ops,
};

fn main() {
    let scanner = Scanner::cpu();
    let sums = scanner.scan(ops::sum::<f32>());
    calls(&sums, None, None).unwrap();
}

fn calls(
    sums: &scan_runtime::Scan<ops::Sum<f32>>,
    stream: Option<Arc<CudaStream>>,
    on_device: Option<CudaSlice<u32>>,
) -> Result<(), scan_runtime::Error> {
    let (Some(stream), Some(on_device)) = (stream, on_device) else { return Ok(()) };
    sums.by_keys(&on_device).run(&[1.0, 2.0])?;
    sums.on(&stream).by_keys(&vec![7_u32, 8]).run(&stream.clone_htod(&[1.0, 2.0]).unwrap())?;
    sums.on(&stream).run(&vec![1.0_f32, 2.0])?;
    sums.by_offsets(&[0_i16, 2]).run(&[1.0, 2.0])?;
    sums.rows(1).init_each(&[1_u8, 2]).run(&[1.0, 2.0])?;
    Ok(())
}
