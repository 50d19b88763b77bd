//! Several callers at once.

use std::{hint::black_box, sync::Barrier, thread, time::Instant};

use scan_runtime::{ScanOp, Scanner, gallery, ops};
use scan_tests::{gallery::Example, operators::compose};

use super::{Bench, LENGTHS, ours_once, pairs};

const CALLERS: usize = 8;

/// Calls of each caller that are timed.
const CALLS: usize = 101;

impl Bench {
    /// A table of calls on the CPU with the threads that a scanner has by default: the time of a call of one caller,
    /// who has one thread, and in proportion to it the time of a call while several callers call at once.
    pub(super) fn callers(&self) {
        if !self.wants("several callers") {
            return;
        }
        println!("\n{CALLERS} callers at once: medians, and nine in ten; of one caller on one thread in µs\n");
        println!("| scan |{}", LENGTHS.map(|len| format!(" {len} |")).concat());
        println!("|---|{}", "--:|".repeat(LENGTHS.len()));
        self.called("sum `f32`", ops::sum::<f32>, |len| vec![1.0; len]);
        self.called("affine pairs", || compose, pairs);
        type Lexer = gallery::automaton::Lexer;
        self.called("lexer of the gallery", Lexer::new, Lexer::input);
    }

    fn called<Op: ScanOp>(&self, name: &str, op: impl Fn() -> Op, input: impl Fn(usize) -> Vec<Op::Input>) {
        let scan = Scanner::cpu().scan(op());
        let cells = LENGTHS.map(|len| {
            let input = input(len);
            let output = scan.run(&input).unwrap_or_else(|error| panic!("{error}"));
            let times = |output: &mut [Op::Output]| {
                let mut time = || {
                    let begin = Instant::now();
                    ours_once(&scan, black_box(&input), black_box(&mut *output));
                    begin.elapsed().as_secs_f64()
                };
                let mut times: Vec<f64> = (0..CALLS).map(|_| time()).collect();
                times.sort_by(f64::total_cmp);
                times
            };
            let alone = self.pools[0].install(|| times(&mut output.clone()))[CALLS / 2];
            let begin = Barrier::new(CALLERS);
            let mut all = thread::scope(|scope| {
                let caller = || {
                    scope.spawn(|| {
                        let mut output = output.clone();
                        begin.wait();
                        times(&mut output)
                    })
                };
                let callers: Vec<_> = (0..CALLERS).map(|_| caller()).collect();
                let times =
                    callers.into_iter().map(|caller| caller.join().unwrap_or_else(|_| panic!("a caller has failed")));
                times.flatten().collect::<Vec<_>>()
            });
            all.sort_by(f64::total_cmp);
            let at = |part: f64| all[(part * (all.len() - 1) as f64) as usize] / alone;
            format!(" {:.1}: {:.2}, {:.2} |", alone * 1e6, at(0.5), at(0.9))
        });
        println!("| {name} |{}", cells.concat());
    }
}
