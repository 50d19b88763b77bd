//! The cost of a scan across several GPUs, by the model of `docs/several-gpus.md`.

use std::io::{self, Write};

/// A scan across ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranks {
    /// How many there are,
    pub(crate) count: usize,
    /// and the elements of all.
    pub(crate) len: usize,
    /// Bytes of an element, which is its own state.
    pub(crate) bytes: usize,
}

/// What a link does: the microseconds of an exchange between two ranks, those that each further rank adds, and the bytes
/// of a microsecond.
struct Link {
    name: &'static str,
    latency: f64,
    each: f64,
    bytes: f64,
}

/// Measured between two and four H100 of one host; a usual network of 400 Gb/s for each GPU.
const LINKS: [Link; 2] = [
    Link { name: "over NVLink", latency: 37.0, each: 3.0, bytes: 150e3 },
    Link { name: "over 400 Gb/s", latency: 60.0, each: 10.0, bytes: 45e3 },
];

/// Bytes that an H100 copies in a microsecond, read and written.
const COPY: f64 = 3.02e6;

impl Ranks {
    /// The microseconds of the kernels of a rank, at the speed of a copy.
    fn kernels(&self) -> f64 {
        (3 * self.slice() * self.bytes) as f64 / COPY
    }

    fn slice(&self) -> usize {
        self.len.div_ceil(self.count)
    }

    fn exchange(&self, link: &Link) -> f64 {
        let sent = (self.count - 1) * self.bytes;
        link.latency + link.each * self.count.saturating_sub(2) as f64 + sent as f64 / link.bytes
    }

    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let Ranks { count, len, bytes } = *self;
        let (slice, kernels) = (self.slice(), self.kernels());
        writeln!(out, "across {count} ranks, {len} elements in all")?;
        writeln!(out, "  slice     {slice} elements of a rank, {} bytes", slice * bytes)?;
        writeln!(out, "  memory    each rank reads {} bytes and writes {}", 2 * slice * bytes, slice * bytes)?;
        writeln!(out, "  exchange  {bytes} bytes of each rank, {} in all, by NCCL", count * bytes)?;
        writeln!(out, "  kernels   {kernels:.0} µs at the speed of a copy on an H100")?;
        for link in &LINKS {
            let exchange = self.exchange(link);
            let one = 2.0 * (len * bytes) as f64 / COPY;
            let faster = one / (kernels + exchange);
            writeln!(out, "  exchange  {exchange:.0} µs {}: {faster:.2} times as fast as one GPU", link.name)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_the_ranks_halve_the_slice_and_lengthen_the_exchange() {
        let ranks = |count| Ranks { count, len: 1 << 30, bytes: 4 };
        for count in [2, 4, 8, 512] {
            assert_eq!(ranks(count).slice(), 2 * ranks(2 * count).slice());
            for link in &LINKS {
                assert!(ranks(count).exchange(link) < ranks(2 * count).exchange(link));
            }
        }
        assert!((ranks(1).kernels() / ranks(2).kernels() - 2.0).abs() < 1e-9);
        let mut text = Vec::new();
        ranks(8).write(&mut text).expect("a vector takes all");
        let text = String::from_utf8_lossy(&text).into_owned();
        assert!(text.contains("across 8 ranks") && text.contains("134217728 elements of a rank"), "{text}");
    }
}
