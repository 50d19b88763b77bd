//! Kernels compiled ahead of time: lists, makes and checks files of them.

use std::{collections::BTreeMap, fs, io::Write, path::Path};

use scan_runtime::{
    Architecture, DeviceLimits, Scanner,
    aot::{Bundle, Precompiled},
};

use crate::{
    Outcome,
    ready::Ready,
    table,
    what::{self, AnyScan, Shape},
};

/// Scans with built-in operators.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Scans {
    /// Operators and types, such as sum:f32
    #[arg(required = true, value_name = "OPERATOR:TYPE")]
    operators: Vec<Ready>,
    #[command(flatten)]
    shape: Shape,
    /// For the devices of this architecture, such as sm_90; may be given several times
    #[arg(long, required = true)]
    arch: Vec<Architecture>,
}

impl Scans {
    fn each(&self) -> impl Iterator<Item = Outcome<(Ready, Box<dyn AnyScan>)>> {
        let scanner = Scanner::cpu();
        self.operators.iter().map(move |&ready| Ok((ready, what::scan(ready, self.shape, &scanner)?)))
    }
}

fn open(file: &Path) -> Outcome<Precompiled> {
    let bytes = fs::read(file).map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
    Ok(Precompiled::open(bytes)?)
}

/// Lists the kernels of a file. It has their names, architectures and machine code, but no plans or sources.
pub(crate) fn show(file: &Path, out: &mut impl Write) -> Outcome {
    let kernels = open(file)?;
    let mut rows = Vec::new();
    let mut sums: BTreeMap<Architecture, (usize, usize)> = BTreeMap::new();
    for kernel in kernels.kernels() {
        rows.push(vec![kernel.architecture.to_string(), kernel.bytes.to_string(), kernel.name.clone()]);
        let (count, bytes) = sums.entry(kernel.architecture).or_default();
        *count += 1;
        *bytes += kernel.bytes;
    }
    table::write(&["for", "bytes", "operator: scan"], &rows, out)?;
    for (architecture, (count, bytes)) in sums {
        writeln!(out, "{architecture}: {count} kernel modules, {bytes} bytes")?;
    }
    Ok(())
}

/// Compiles scans into a file.
pub(crate) fn make(scans: &Scans, file: &Path, out: &mut impl Write) -> Outcome {
    let named = |bundle: Bundle, architecture: &Architecture| bundle.architecture(&architecture.to_string());
    let mut bundle = scans.arch.iter().fold(Bundle::new(), named);
    for scan in scans.each() {
        bundle = scan?.1.add_to(bundle);
    }
    bundle.write(file)?;
    let count = open(file)?.kernels().len();
    writeln!(out, "wrote {count} kernel modules to {}", file.display())?;
    Ok(())
}

/// Lists the kernels that scans need and a file lacks. Returns whether it lacks none.
pub(crate) fn check(scans: &Scans, file: &Path, out: &mut impl Write) -> Outcome<bool> {
    let kernels = open(file)?;
    let mut rows = Vec::new();
    for scan in scans.each() {
        let (ready, scan) = scan?;
        for &architecture in &scans.arch {
            for name in scan.missing(&kernels, &DeviceLimits::of(architecture))? {
                rows.push(vec![architecture.to_string(), ready.to_string(), name]);
            }
        }
    }
    match rows.is_empty() {
        true => writeln!(out, "nothing is missing")?,
        false => table::write(&["missing for", "operator", "scan"], &rows, out)?,
    }
    Ok(rows.is_empty())
}
