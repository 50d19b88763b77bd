//! Bank conflicts in the trees of the textbooks.

use super::networks::WARP;

/// Cycles of a warp's accesses to shared memory, where each bank serves one word a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BankCycles {
    /// All cycles.
    pub cycles: u64,
    /// The cycles without bank conflicts.
    pub without_conflicts: u64,
}

/// The cycles in which the threads of a tree read (or write) one operand of every node, on all levels of a tree over
/// `leaves` 4-byte values without padding; `leaves` is a power of two. `group` threads of a warp are served together,
/// on `banks` banks.
///
/// On the level with stride s, thread t accesses word 2 s (t + 1) − 1. The words of neighbours are 2 s apart, so m
/// threads access only banks / 2s banks, at least one: ⌈m · min(2s, banks) / banks⌉ cycles for each warp.
///
/// An up-sweep or down-sweep reads two operands and writes one: textbooks count six times this figure for both.
pub fn tree_bank_cycles(leaves: u64, banks: u64, group: u64) -> BankCycles {
    let mut sum = BankCycles::default();
    let banks = banks.max(1);
    for log in 1..=leaves.max(1).ilog2() {
        let distance = 1 << log;
        let threads = leaves / distance;
        let of_warp = |threads: u64| threads.min(group).saturating_mul(distance.min(banks)).div_ceil(banks);
        let (full, rest) = (threads / WARP, threads % WARP);
        sum.cycles = sum.cycles.saturating_add(full.saturating_mul(of_warp(WARP))).saturating_add(of_warp(rest));
        sum.without_conflicts += threads.div_ceil(WARP);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_of_the_unpadded_tree_are_those_of_the_literature() {
        let tree = |leaves| {
            let BankCycles { cycles, without_conflicts } = tree_bank_cycles(leaves, 16, 16);
            (6 * cycles, 6 * without_conflicts)
        };
        assert_eq!(tree(64), (102, 36));
        assert_eq!(tree(128), (186, 48));
        assert_eq!(tree(512), (570, 120));
    }
}
