//! Names that C++, CUDA or the text around an operator have taken.

use super::harness::{Random, Sample, Suite};
use scan_runtime::{ScanOp, scan_element, scan_fn, scan_op};

macro_rules! element {
    ($($name:ident { $($field:ident),* })*) => {$(
        #[scan_element]
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        struct $name { $($field: u32),* }

        impl Sample for $name {
            fn edges() -> Vec<$name> {
                (0..20).map(|seed| $name::random(&mut Random(seed))).collect()
            }
            fn random(random: &mut Random) -> $name {
                $name { $($field: u32::random(random)),* }
            }
        }

        #[scan_op]
        impl ScanOp for OnStructs<$name> {
            type Element = $name;
            fn combine(a: $name, b: $name) -> $name {
                let c = $name { $($field: a.$field ^ b.$field.rotate_left(1)),* };
                if a == b { c } else { $name { ..b } }
            }
        }
    )*};
}

struct OnStructs<T>(::std::marker::PhantomData<T>);

element! {
    std { std, x }
    clock { all, any }
    value { value }
    threadIdx { x, y }
    NULL { NULL, main }
    Words { word, items, memcpy }
    WideNumber { low, high }
    CUDART_VERSION { linux, unix }
    NV_IF_TARGET { assert, chosen }
    printf { printf, alignof }
    intrinsic_byte { array, at }
    Array { items, raw }
}

#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
enum exp {
    sin,
    exp,
    NULL,
}

impl Sample for exp {
    fn edges() -> Vec<exp> {
        vec![exp::sin, exp::exp, exp::NULL]
    }
    fn random(random: &mut Random) -> exp {
        exp::edges()[(random.next() % 3) as usize]
    }
}

#[scan_op]
fn max(a: exp, b: exp) -> exp {
    match (a, b) {
        (exp::NULL, other) => other,
        (exp::sin, exp::sin) => exp::exp,
        _ => a,
    }
}

const abs: [u32; 4] = [3, 1, 4, 1];
const SOME_ROUNDS: u32 = 3;
const rounds: usize = 2;

#[scan_fn]
fn erf(x: f32) -> f32 {
    x * 2.0
}

#[scan_fn]
fn left_by(x: u128, count: u32) -> u128 {
    x >> (count & 3)
}

#[scan_fn]
fn float2int(x: f64) -> f64 {
    -x
}

mod erf_of {
    use super::*;
    #[scan_fn]
    pub(crate) fn x__y(x: u32) -> u32 {
        x ^ 1
    }
    pub(crate) mod x {
        use super::*;
        #[scan_fn]
        pub(crate) fn y(x: u32) -> u32 {
            x ^ 2
        }
    }
}

struct Fields {
    combine: u32,
    lift: u32,
    project: u32,
    identity: u32,
    Fields: u32,
}

#[scan_op]
impl ScanOp for Fields {
    type Element = u32;
    const IDENTITY: u32 = 0;
    fn lift(&self, x: u32) -> u32 {
        x ^ self.lift
    }
    fn combine(&self, a: u32, b: u32) -> u32 {
        a ^ b ^ self.combine ^ self.identity ^ self.Fields
    }
    fn project(&self, x: u32) -> u32 {
        x ^ self.project
    }
}

macro_rules! operator {
    ($suite:ident, $ty:ty, |$a:ident, $b:ident| $($body:tt)*) => {{
        struct Operator;
        #[scan_op]
        impl ScanOp for Operator {
            type Element = $ty;
            fn combine($a: $ty, $b: $ty) -> $ty { $($body)* }
        }
        $suite.combine(Operator, 0);
    }};
}

pub(crate) fn cases(suite: &mut Suite) {
    macro_rules! structs {
        ($($name:ident)*) => { $(suite.combine(OnStructs::<$name>(::std::marker::PhantomData), 0);)* };
    }
    structs!(std clock value threadIdx NULL Words WideNumber CUDART_VERSION NV_IF_TARGET printf intrinsic_byte Array);
    suite.combine(max, 0);
    suite.combine(Fields { combine: 1, lift: 2, project: 4, identity: 8, Fields: 16 }, 0);
    operator!(suite, [u32; 4], |chosen, raw| {
        let range = chosen;
        let repeat = [raw[0]; rounds];
        let (p, q) = (range[0], repeat[1]);
        let mut panic = if p < q { [p, q, p, p] } else { [q, p, q, q] };
        for value_of in 0..SOME_ROUNDS {
            let index = raw[0] as usize & 3;
            panic[index] ^= abs[index] ^ value_of;
        }
        panic
    });
    operator!(suite, f32, |a, b| erf(1.5) + erf(a) * b);
    operator!(suite, f64, |a, b| float2int(1.5) + float2int(a) * b);
    operator!(suite, u128, |a, b| left_by(a, 1) ^ (b << 3));
    operator!(suite, u32, |a, b| erf_of::x__y(a) ^ erf_of::x::y(b).rotate_left(5));
    // What Rust rounds to zero, or to the smallest numbers.
    operator!(suite, f64, |a, b| a * 1e-400_f64 + 2.4e-324_f64 + b * 3e-324_f64 + 1e-400 + 5e-310);
    operator!(suite, f32, |a, b| a * 1e-60_f32 + 7e-46_f32 + b * 7.1e-46_f32 + 1e-42_f32 + 1e-60 + 0e9_f32);
}
