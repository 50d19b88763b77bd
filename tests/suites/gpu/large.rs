//! More elements than 32 bits can count.

use scan_runtime::{Scanner, ops};

use crate::{Trials, ensure};

pub(crate) fn add(trials: &mut Trials) {
    trials.add("large_past_2_to_the_32", || {
        let len = (1_usize << 32) + 4_101;
        let scanner = Scanner::cuda(0)?;
        let mut buffer: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
        scanner.scan(ops::sum()).exclusive().init(9).run_in_place(&mut buffer)?;
        let mut sum = 9_u8;
        for (i, &result) in buffer.iter().enumerate() {
            ensure(result == sum, || format!("wrong from {i} on"))?;
            sum = sum.wrapping_add((i % 251) as u8);
        }
        Ok(())
    });
}
