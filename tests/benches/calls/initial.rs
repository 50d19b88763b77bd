//! Scans of device memory whose initial value is in device memory, against those without one.

use std::time::Instant;

use scan_runtime::{Scanner, cudarc::driver::CudaStream, ops};

use crate::Outcome;

const LENGTHS: [u32; 4] = [16, 20, 24, 28];
/// Scans that are timed together, and how often they take turns.
const CALLS: usize = 50;
const TURNS: usize = 21;

/// A table of ratios: the time of a scan without an initial value to that with one.
pub(crate) fn measure() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let value = stream.clone_htod(&[1.0_f32])?;
    println!(
        "\nSum of `f32` in device memory: speed with an initial value, ratio to that without, medians of {TURNS} turns\n"
    );
    println!("| initial value |{}|", LENGTHS.map(|power| format!(" 2^{power} ")).join("|"));
    println!("|---|{}", "--:|".repeat(LENGTHS.len()));
    let plain = scanner.scan(ops::sum::<f32>());
    let given = scanner.scan(ops::sum::<f32>()).init(1.0);
    let (mut of_host, mut of_device) = (Vec::new(), Vec::new());
    for power in LENGTHS {
        let input = stream.alloc_zeros::<f32>(1 << power)?;
        let mut output = stream.alloc_zeros::<f32>(1 << power)?;
        let mut turns = (Vec::new(), Vec::new());
        for _ in 0..TURNS {
            let without = seconds(&stream, || Ok(plain.on(&stream).run_into(&input, &mut output)?))?;
            let from_host = seconds(&stream, || Ok(given.on(&stream).run_into(&input, &mut output)?))?;
            let from_device =
                seconds(&stream, || Ok(plain.on(&stream).init_from(&value).run_into(&input, &mut output)?))?;
            turns.0.push(without / from_host);
            turns.1.push(without / from_device);
        }
        if stream.clone_dtoh(&output)?.iter().any(|sum| *sum != 1.0) {
            return Err(format!("2^{power}: a sum is wrong").into());
        }
        of_host.push(turns.0);
        of_device.push(turns.1);
    }
    for (name, ratios) in [("of the host, `init`", of_host), ("of the device, `init_from`", of_device)] {
        let cells = ratios.into_iter().map(|mut ratios| {
            ratios.sort_by(f64::total_cmp);
            format!(" {:.3} ", ratios[ratios.len() / 2])
        });
        println!("| {name} |{}|", cells.collect::<Vec<_>>().join("|"));
    }
    Ok(())
}

fn seconds(stream: &CudaStream, mut call: impl FnMut() -> Outcome) -> Outcome<f64> {
    call()?;
    stream.synchronize()?;
    let start = Instant::now();
    for _ in 0..CALLS {
        call()?;
    }
    stream.synchronize()?;
    Ok(start.elapsed().as_secs_f64())
}
