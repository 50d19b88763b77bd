//! The search for the fastest kernel shapes, and its stored results.

mod progress;
mod search;

use scan_codegen::{DeviceLimits, OpSource, ScanSpec, Tuned};

use crate::DiskCache;

pub use progress::{TuningProgress, TuningStep};
pub use search::{TimedShape, Tuning};

/// The disk-cache entry with the tuned shapes of an operator, a scan and a device of this name.
pub(crate) fn entry(operator: &OpSource, spec: &ScanSpec, device: &str, limits: &DeviceLimits) -> blake3::Hash {
    let mut hash = blake3::Hasher::new();
    let [operator, spec, limits] = [format!("{operator:?}"), format!("{spec:?}"), format!("{limits:?}")];
    for part in ["tuned shapes", env!("CARGO_PKG_VERSION"), device, &limits, &spec, &operator] {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize()
}

/// The shapes of such an entry; empty if there is none, or it does not have this form.
pub(crate) fn load(cache: &DiskCache, entry: &blake3::Hash) -> Vec<Tuned> {
    let Some(bytes) = cache.load(entry) else { return Vec::new() };
    String::from_utf8_lossy(&bytes).lines().filter_map(Tuned::parse).collect()
}

/// Adds a shape, in place of those for the same lengths.
pub(crate) fn replace(all: &mut Vec<Tuned>, tuned: Tuned) {
    all.retain(|known| known.from < tuned.from || known.to > tuned.to);
    all.push(tuned);
}

/// Adds a shape to such an entry, in place of those for the same lengths, and returns whether it was stored.
pub(crate) fn store(cache: &DiskCache, entry: &blake3::Hash, tuned: Tuned) -> bool {
    let mut all = load(cache, entry);
    replace(&mut all, tuned);
    let lines: Option<Vec<_>> = all.iter().map(Tuned::to_line).collect();
    lines.is_some_and(|lines| cache.store(entry, lines.join("\n").as_bytes()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that fails panics")]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::{BlockScan, Carry, Error, Network, Overrides, ScanOp, Scanner, Strategy, ops};

    fn tuned(from: u64, to: u64, threads: u32) -> Tuned {
        let mut overrides = Overrides::default();
        let block = BlockScan::coarsened(Network::WarpShuffle);
        overrides.strategy = Some(Strategy { block, carry: Carry::LookBack });
        overrides.threads = Some(threads);
        Tuned { from, to, overrides }
    }

    #[test]
    fn a_stored_range_is_loaded_and_replaces_those_it_covers() {
        let folder = tempfile::tempdir().unwrap();
        let cache = DiskCache::at(folder.path());
        let (operator, spec) = (ops::sum::<u32>().source(), ScanSpec::inclusive());
        let [here, there] = ["a GPU", "another GPU"].map(|name| entry(&operator, &spec, name, &DeviceLimits::H200));
        assert_eq!(load(&cache, &here), []);
        assert!(store(&cache, &here, tuned(8, 32, 64)) && store(&cache, &here, tuned(100, 400, 128)));
        assert_eq!(load(&cache, &here), [tuned(8, 32, 64), tuned(100, 400, 128)]);
        assert!(store(&cache, &here, tuned(8, 32, 256)));
        assert_eq!(load(&cache, &here), [tuned(100, 400, 128), tuned(8, 32, 256)]);
        assert_eq!(load(&cache, &there), []);
        cache.store(&here, b"something else");
        assert_eq!(load(&cache, &here), []);
    }

    #[test]
    fn each_operator_scan_and_device_has_an_entry_of_its_own() {
        let (sum, max) = (ops::sum::<u32>().source(), ops::max::<u32>().source());
        let (inclusive, exclusive) = (ScanSpec::inclusive(), ScanSpec::exclusive());
        let mut fewer = DeviceLimits::H200;
        fewer.multiprocessors -= 1;
        let entries = [
            entry(&sum, &inclusive, "a GPU", &DeviceLimits::H200),
            entry(&max, &inclusive, "a GPU", &DeviceLimits::H200),
            entry(&sum, &exclusive, "a GPU", &DeviceLimits::H200),
            entry(&sum, &inclusive.clone().reverse(), "a GPU", &DeviceLimits::H200),
            entry(&sum, &inclusive, "another GPU", &DeviceLimits::H200),
            entry(&sum, &inclusive, "a GPU", &fewer),
        ];
        assert_eq!(HashSet::from(entries).len(), entries.len());
    }

    #[test]
    fn the_cpu_has_no_shapes() {
        let scanner = Scanner::cpu();
        let error = scanner.scan(ops::sum()).tune(&[1, 2, 3]).unwrap_err();
        assert!(matches!(error, Error::NotCuda { .. }));
        assert!(error.to_string().starts_with("this needs a CUDA scanner, and this one runs on the CPU"), "{error}");
    }
}
