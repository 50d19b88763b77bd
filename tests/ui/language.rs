use scan_runtime::{ScanOp, scan_op};

struct Outside;

#[scan_op]
impl ScanOp for Outside {
    type Element = f32;
    const IDENTITY: f32 = 0.0;
    fn combine(a: f32, b: f32) -> f32 {
        let r = &a;
        let twice = |x: f32| x + x;
        let text = "text";
        let letter = 'x';
        let pair = (a, b);
        let (x, y) = pair;
        println!("{}", a);
        assert_eq!(a, b);
        const TWO: f32 = 2.0;
        let s = a.sqr();
        let m = a.max(b, b);
        let u = unsafe { *r };
        let o = if let 1 = 1 { a } else { b };
        let c = b.checked_add(a);
        for x in [a, b] {}
        for i in 0.. {}
        #[cfg(debug_assertions)]
        let v = vec![a];
        let w: &f32 = &a;
        let block = 'block: {
            break 'block a;
        };
        a
    }
}

fn main() {
    let _ = Outside.combine(1.0, 2.0);
}
