//! What launches do, in place of kernels: they take every operator for one that gives its right operand. So each result
//! of a scan is the element itself, and each total the last element: enough to show that elements reach the kernel, and
//! results the caller, from the right places to the right places.
//!
//! That holds where results are of the size of elements. Of several arrays, each of the output is written from the last
//! one of the input with items of its size. Other results, and what is gathered or scattered by the kernel, is not
//! written; nor are totals of reversed scans those of the first element.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{
    state::State,
    types::{Array, Kernel},
};

/// The arguments of a launch, each with the bytes of its value.
pub(super) struct Launch<'l> {
    pub(super) kernel: &'l Kernel,
    pub(super) arguments: Vec<&'l [u8]>,
    pub(super) blocks: u64,
}

impl Launch<'_> {
    /// The value of a parameter, if there is one of this name.
    fn bytes(&self, name: &str) -> Option<&[u8]> {
        let index = self.kernel.parameters.iter().position(|(parameter, _)| parameter == name)?;
        self.arguments.get(index).copied()
    }

    fn number(&self, name: &str) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes(name)?.try_into().ok()?))
    }

    /// The arrays of a parameter, which is a pointer, or a struct of some.
    fn arrays(&self, name: &str) -> Vec<Array> {
        let ty = self.kernel.parameters.iter().find(|(parameter, _)| parameter == name);
        let (Some((_, Ok(ty))), Some(bytes)) = (ty, self.bytes(name)) else { return Vec::new() };
        ty.arrays(bytes)
    }

    fn array(&self, name: &str) -> Option<Array> {
        self.arrays(name).first().copied()
    }

    /// Each array of the output, with the one of the input that its items come from.
    fn pairs(&self) -> Vec<(Array, Array)> {
        let inputs = self.arrays("input");
        let source = |output: Array| {
            let same = inputs.iter().rev().find(|input| input.item == output.item);
            same.map(|input| (*input, output))
        };
        self.arrays("output").into_iter().filter_map(source).collect()
    }

    /// `false` where the arguments make no sense to the kernel.
    pub(super) fn execute(&self, state: &mut State) -> bool {
        catch_unwind(AssertUnwindSafe(|| self.act(state))).is_ok()
    }

    fn act(&self, state: &mut State) {
        let name = &self.kernel.name;
        let done = if name.ends_with("_reduce_tiles") {
            self.reduce(state, "input")
        } else if name.ends_with("_reduce_sums") {
            self.reduce(state, "aggregates_below")
        } else if name.ends_with("_reduce_end") {
            self.array("last").zip(self.array("output")).map(|(last, output)| copy(state, last, 0, output, 0))
        } else if name.ends_with("_last_results") {
            self.last_results(state)
        } else if name.ends_with("_reduce_ranges") {
            self.ranges(state)
        } else if name.ends_with("_scan_columns") {
            self.columns(state)
        } else {
            self.scan(state)
        };
        // Kernels of other kinds write nothing.
        done.unwrap_or_default();
    }

    /// Every aggregate is the last element.
    fn reduce(&self, state: &mut State, from: &str) -> Option<()> {
        let (from, to, n) = (self.array(from)?, self.array("aggregates")?, self.number("n")?);
        (0..self.blocks).for_each(|block| copy(state, from, n - 1, to, block));
        Some(())
    }

    fn scan(&self, state: &mut State) -> Option<()> {
        let length = self.array("length").and_then(|length| state.read(length.at, length.item));
        let n = self.number("n")?.min(length.unwrap_or(u64::MAX));
        for (input, output) in self.pairs() {
            state.copy(input.at, output.at, n as usize * input.item);
        }
        let input = *self.arrays("input").last()?;
        if let Some(total) = self.array("total")
            && n > 0
        {
            copy(state, input, n - 1, total, 0);
        }
        if let Some(totals) = self.array("totals") {
            let ends = self.ends(state, n);
            ends.into_iter().enumerate().filter_map(|(k, end)| Some((k, end?))).for_each(|(k, end)| {
                copy(state, input, end, totals, k as u64);
            });
        }
        Some(())
    }

    /// The last element of each segment, of those that are numbered; `None` of an empty one.
    fn ends(&self, state: &mut State, n: u64) -> Vec<Option<u64>> {
        if let Some(row) = self.number("row") {
            return (1..=n / row).map(|k| Some(k * row - 1)).collect();
        }
        let count =
            self.number("offset_count").map(|count| count.saturating_sub(1)).or_else(|| self.number("segments"));
        let (Some(offsets), Some(count)) = (self.array("offsets"), count) else { return Vec::new() };
        let mut offset = |k: u64| state.read(offsets.at + k * offsets.item as u64, offsets.item).unwrap_or(0);
        (0..count)
            .map(|k| (offset(k), offset(k + 1)))
            .map(|(from, to)| (from < to && to <= n).then(|| to - 1))
            .collect()
    }

    /// The ends of all segments, by what tells the heads.
    fn ends_by_heads(&self, state: &mut State, n: u64) -> Vec<u64> {
        let (flags, bits, keys) = (self.array("head_flags"), self.array("head_bits"), self.array("keys"));
        let mut is_head = |index: u64| match (flags, bits, keys) {
            (Some(flags), _, _) => state.read(flags.at + index, 1) != Some(0),
            (_, Some(bits), _) => {
                let word = state.read(bits.at + index / 32 * 4, 4);
                word.is_some_and(|word| word >> (index % 32) & 1 == 1)
            }
            (_, _, Some(keys)) => {
                let mut key = |index: u64| state.read(keys.at + index * keys.item as u64, keys.item);
                key(index) != key(index - 1)
            }
            _ => false,
        };
        (0..n).filter(|&index| index + 1 == n || is_head(index + 1)).collect()
    }

    fn last_results(&self, state: &mut State) -> Option<()> {
        let (scanned, totals) = (self.array("scanned")?, self.array("totals")?);
        if let Some(room) = self.number("room") {
            let ends = self.ends_by_heads(state, self.number("n")?);
            let ends = ends.into_iter().take(room as usize).enumerate();
            ends.for_each(|(k, end)| copy(state, scanned, end, totals, k as u64));
            return Some(());
        }
        let n = self.number("n").or_else(|| Some(self.number("row")? * self.number("segments")?))?;
        for (k, end) in self.ends(state, n).into_iter().enumerate() {
            match (end, self.bytes("of_nothing")) {
                (Some(end), _) => copy(state, scanned, end, totals, k as u64),
                (None, Some(of_nothing)) => state.write(totals.at + (k * totals.item) as u64, of_nothing),
                (None, None) => {
                    let values = self.array("initial_values");
                    values.into_iter().for_each(|values| copy(state, values, k as u64, totals, k as u64));
                }
            }
        }
        Some(())
    }

    /// The last element of each range, where it is of the size of a result.
    fn ranges(&self, state: &mut State) -> Option<()> {
        let (begins, ends, totals) = (self.array("begins")?, self.array("ends")?, self.array("totals")?);
        let (input, n) = (*self.arrays("input").last()?, self.number("n")?);
        for k in 0..self.number("ranges")? {
            let [begin, end] = [begins, ends].map(|at| state.read(at.at + k * at.item as u64, at.item).unwrap_or(0));
            match begin < end && end <= n {
                true => copy(state, input, end - 1, totals, k),
                false => self.bytes("of_nothing").into_iter().for_each(|of_nothing| {
                    state.write(totals.at + k * totals.item as u64, of_nothing);
                }),
            }
        }
        Some(())
    }

    fn columns(&self, state: &mut State) -> Option<()> {
        let words: Vec<u64> = self
            .bytes("layout")?
            .chunks_exact(8)
            .filter_map(|word| Some(u64::from_le_bytes(word.try_into().ok()?)))
            .collect();
        let [length, columns, input_step, output_step, dimensions, rest @ ..] = &words[..] else { return None };
        // Extents, and strides of the input, of the output, and of the values.
        let parts: Vec<_> = rest.chunks(rest.len() / 4).collect();
        let [extents, of_input, of_output, of_values] = parts[..] else { return None };
        let (pairs, totals) = (self.pairs(), self.array("totals"));
        let last = self.arrays("input").last().copied();
        for column in 0..*columns {
            let (mut left, mut from, mut to, mut value) = (column, 0_u64, 0_u64, 0_u64);
            for dimension in 0..*dimensions as usize {
                let index = left % extents[dimension];
                left /= extents[dimension];
                from = place(from, index, of_input[dimension]);
                to = place(to, index, of_output[dimension]);
                value = place(value, index, of_values[dimension]);
            }
            for (input, output) in &pairs {
                (0..*length).for_each(|i| {
                    copy(state, *input, place(from, i, *input_step), *output, place(to, i, *output_step))
                });
            }
            if let (Some(totals), Some(last)) = (totals, last) {
                copy(state, last, place(from, length - 1, *input_step), totals, value);
            }
        }
        Some(())
    }
}

/// The place `index` strides after the first one; a stride may be the bits of a negative number.
fn place(first: u64, index: u64, stride: u64) -> u64 {
    first.wrapping_add(index.wrapping_mul(stride))
}

/// Copies one item, if both arrays have items of this size.
fn copy(state: &mut State, from: Array, index: u64, to: Array, at: u64) {
    if from.item == to.item {
        state.copy(place(from.at, index, from.item as u64), place(to.at, at, to.item as u64), from.item);
    }
}
