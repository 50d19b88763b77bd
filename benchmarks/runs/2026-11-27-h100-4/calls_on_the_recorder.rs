use scan_runtime::{Scanner, ops};
use std::time::Instant;
fn main() {
    unsafe { scan_tests::driver::start() }.unwrap();
    let scanner = Scanner::builder().device(0).no_cache().build().unwrap();
    let context = scanner.context().unwrap();
    unsafe { context.disable_event_tracking() };
    let stream = context.new_stream().unwrap();
    let sums = scanner.scan(ops::sum::<f32>());
    for len in [1 << 10, 1 << 20] {
        let x = stream.clone_htod(&vec![1.0f32; len]).unwrap();
        let mut y = stream.alloc_zeros::<f32>(len).unwrap();
        let handle = sums.on(&stream).prepare(len).unwrap();
        for _ in 0..1000 { sums.on(&stream).run_into(&x, &mut y).unwrap(); handle.run_into(&x, &mut y).unwrap(); }
        let mut best = [f64::MAX; 2];
        for _ in 0..15 {
            let n = 20000;
            let t = Instant::now();
            for _ in 0..n { sums.on(&stream).run_into(&x, &mut y).unwrap(); }
            best[0] = best[0].min(t.elapsed().as_nanos() as f64 / n as f64);
            let t = Instant::now();
            for _ in 0..n { handle.run_into(&x, &mut y).unwrap(); }
            best[1] = best[1].min(t.elapsed().as_nanos() as f64 / n as f64);
        }
        println!("{len}: on().run_into {:.0} ns, prepared {:.0} ns", best[0], best[1]);
    }
}
