//! Calls with host slices, and how they travel.

use scan_runtime::{Scanner, Staging, ops};

use crate::{Outcome, warm::each};

const LENGTHS: [u32; 10] = [8, 11, 14, 16, 18, 19, 20, 22, 24, 26];

/// A table of staging's settings: microseconds of a scan from host slice to host slice.
pub(crate) fn measure() -> Outcome {
    let default = Staging::default();
    let mapped = |bytes| default.with_mapped_bytes(bytes);
    let pieces = |bytes| default.with_piece_bytes(bytes);
    let threads = |threads| default.with_copy_threads(threads);
    let settings = [
        ("as usual", default),
        ("nothing mapped", mapped(0)),
        ("mapped to 256 KiB", mapped(256 << 10)),
        ("1 thread", threads(1)),
        ("2 threads", threads(2)),
        ("4 threads", threads(4)),
        ("shared from 256 KiB", default.with_shared_bytes(256 << 10)),
        ("shared from 1 MiB", default.with_shared_bytes(1 << 20)),
        ("pieces of 2 MiB", pieces(2 << 20)),
        ("pieces of 4 MiB", pieces(4 << 20)),
        ("pieces of 8 MiB", pieces(8 << 20)),
        ("pieces of 16 MiB", pieces(16 << 20)),
        ("pieces of 32 MiB", pieces(32 << 20)),
        ("nothing kept", default.with_kept_bytes(0)),
        ("as usual, again", default),
    ];
    println!("\nHost slices: sum of `f32` in place, microseconds, by length\n");
    println!("| staging | {} |", LENGTHS.map(|power| format!("2^{power}")).join(" | "));
    println!("|---|{}", "--:|".repeat(LENGTHS.len()));
    for (name, staging) in settings {
        let scanner = Scanner::builder().device(0).staging(staging).build()?;
        row(name, |host| Ok(scanner.scan(ops::sum()).run_in_place(host)?))?;
    }
    let scanner = Scanner::builder().device(0).build()?;
    let mut output = vec![0.0_f32; 1 << LENGTHS[LENGTHS.len() - 1]];
    row("as usual, to another slice", |host| {
        let output = &mut output[..host.len()];
        scanner.scan(ops::sum()).run_into(&*host, &mut *output)?;
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
        if host[len - 1] != len as f32 && power <= 24 {
            return Err(format!("the last sum of {len} is {}", host[len - 1]).into());
        }
        host.fill(0.0);
        cells.push(format!("{:.1}", each(|| scan(&mut host))?));
    }
    println!("| {name} | {} |", cells.join(" | "));
    Ok(())
}
