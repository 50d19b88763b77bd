//! Calls with host slices, and how they travel.

use scan_runtime::{Scanner, Staging, ops};

use crate::{Outcome, warm::each};

const LENGTHS: [u32; 10] = [8, 11, 14, 16, 18, 19, 20, 21, 22, 25];

/// A table of staging's settings: microseconds of a scan from host slice to host slice.
pub(crate) fn measure() -> Outcome {
    let default = Staging::default();
    let mapped = |bytes| default.with_mapped_bytes(bytes);
    let pieces = |bytes| default.with_piece_bytes(bytes);
    let threads = |threads| default.with_copy_threads(threads);
    let shared = |count, bytes| threads(count).with_shared_bytes(bytes);
    let settings = [
        ("as usual", default),
        ("nothing mapped", mapped(0)),
        ("mapped to 256 KiB", mapped(256 << 10)),
        ("1 thread", threads(1)),
        ("2 threads, from 128 KiB", shared(2, 128 << 10)),
        ("4 threads, from 128 KiB", shared(4, 128 << 10)),
        ("8 threads, from 128 KiB", shared(8, 128 << 10)),
        ("4 threads, from 512 KiB", shared(4, 512 << 10)),
        ("4 threads, from 1 MiB", shared(4, 1 << 20)),
        ("pieces of 1 MiB", pieces(1 << 20)),
        ("pieces of 2 MiB", pieces(2 << 20)),
        ("pieces of 16 MiB", pieces(16 << 20)),
        ("nothing kept", default.with_kept_bytes(0)),
    ];
    println!("\nHost slices: sum of `f32` in place, microseconds, by length\n");
    println!("| staging | {} |", LENGTHS.map(|power| format!("2^{power}")).join(" | "));
    println!("|---|{}", "--:|".repeat(LENGTHS.len()));
    for (name, staging) in settings {
        let scanner = Scanner::builder().device(0).staging(staging).build()?;
        row(name, |host| Ok(scanner.scan(ops::sum()).run_in_place(host)?))?;
    }
    let scanner = Scanner::builder().device(0).build()?;
    let mut output = vec![0.0; 1 << LENGTHS[LENGTHS.len() - 1]];
    row("as usual, to another slice", |host| {
        let output = &mut output[..host.len()];
        scanner.scan(ops::sum()).run_into(host, output)?;
        host[host.len() - 1] = output[host.len() - 1];
        Ok(())
    })?;
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.default_stream();
    row("pageable, by hand", |host| {
        let mut device = stream.clone_htod(host)?;
        scanner.scan(ops::sum()).on(&stream).run_in_place(&mut device)?;
        stream.memcpy_dtoh(&device, host)?;
        Ok(stream.synchronize()?)
    })
}

fn row(name: &str, mut scan: impl FnMut(&mut [f32]) -> Outcome) -> Outcome {
    let mut cells = Vec::new();
    for power in LENGTHS {
        let len = 1 << power;
        let mut host = vec![1.0; len];
        scan(&mut host)?;
        if host[len - 1] != (len as f32).min(16_777_216.0) && power <= 24 {
            return Err(format!("the last sum of {len} is {}", host[len - 1]).into());
        }
        host.fill(0.0);
        cells.push(format!("{:.1}", each(|| scan(&mut host))?));
    }
    println!("| {name} | {} |", cells.join(" | "));
    Ok(())
}
