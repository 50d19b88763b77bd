//! Valid Rust all around an operator: names that the macros' output has, and code that nests deep.

#![allow(
    clippy::double_parens,
    unused_comparisons,
    non_camel_case_types,
    non_upper_case_globals,
    dead_code,
    reason = "names of locals as names of items"
)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{Target, operator_text};
use scan_runtime::{Architecture, ScanOp, Scanner, nvrtc, scan_element, scan_fn, scan_op};

/// Operators, elements and functions beside items that make a pattern of their name mean something else than a new local.
macro_rules! with_items {
    ($($module:ident { $($item:item)* })*) => {$(
        mod $module {
            use super::*;
            $($item)*

            #[scan_op(identity = 0, laws)]
            fn sum(p: u32, q: u32) -> u32 {
                p.wrapping_add(q)
            }

            struct Longest<T>(std::marker::PhantomData<T>);

            #[scan_op]
            impl<T: Copy + scan_runtime::ScanElement> ScanOp for Longest<T> {
                type Input = T;
                type State = [Run<T, 2>; 2];
                type Output = u32;
                fn lift(x: T) -> [Run<T, 2>; 2] {
                    [Run { first: [x; 2], count: 1 }; 2]
                }
                fn combine(p: [Run<T, 2>; 2], q: [Run<T, 2>; 2]) -> [Run<T, 2>; 2] {
                    let mut r = p;
                    for i in 0..2 {
                        r[i] = Run::<T, 2> { count: twice(r[i].count) ^ q[1].count, ..p[i] };
                    }
                    r
                }
                fn project(p: [Run<T, 2>; 2]) -> u32 {
                    p[0].count
                }
            }

            #[scan_element]
            #[derive(Clone, Copy)]
            struct Run<T, const N: usize> {
                first: [T; N],
                count: u32,
            }

            #[scan_fn]
            fn twice(p: u32) -> u32 {
                p.wrapping_mul(2)
            }

            #[test]
            fn operators_beside_shadowed_names_compute_the_same() {
                assert_eq!((sum.combine(3, 4), sum.identity()), (7, Some(0)));
                let longest = Longest::<u8>(std::marker::PhantomData);
                assert_eq!(longest.project(longest.combine(longest.lift(1), longest.lift(2))), 3);
                assert!(operator_text(&longest.source(), Target::Cuda).unwrap().text.contains("struct Run_u8_2"));
            }
        }
    )*};
}

with_items! {
    among_constants {
        const a: i8 = 1; const b: i8 = 1; const _b: i8 = 1; const value: i8 = 1; const identity: i8 = 1; const lift: i8 = 1;
        const combine: i8 = 1; const project: i8 = 1; const source: i8 = 1; const op: i8 = 1; const operator: i8 = 1;
        const input: i8 = 1; const state: i8 = 1; const output: i8 = 1; const length: i8 = 1; const arguments: i8 = 1;
        const rounds: i8 = 1; const sum_of_products: i8 = 1; const SOME_ROUNDS: i8 = 1; const samples: i8 = 1;
        const name: i8 = 1; const layout: i8 = 1; const krate: i8 = 1; const private: i8 = 1;
    }
    among_statics {
        static a: i8 = 1; static b: i8 = 1; static _b: i8 = 1; static value: i8 = 1; static identity: i8 = 1;
        static lift: i8 = 1; static combine: i8 = 1; static project: i8 = 1; static source: i8 = 1; static op: i8 = 1;
        static operator: i8 = 1; static input: i8 = 1; static state: i8 = 1; static output: i8 = 1; static length: i8 = 1;
        static arguments: i8 = 1; static rounds: i8 = 1; static sum_of_products: i8 = 1; static SOME_ROUNDS: i8 = 1;
    }
    among_structs {
        struct a; struct b; struct _b; struct value; struct identity; struct lift; struct combine; struct project;
        struct source; struct op; struct operator; struct input; struct state; struct output; struct length;
        struct arguments; struct rounds; struct sum_of_products;
    }
}

macro_rules! operators {
    ($($name:ident)*) => {
        mod of_these_names {
            use super::*;
            $(
                #[scan_op(identity = 0, laws = [1, 2, 3])]
                pub(super) fn $name(p: u32, q: u32) -> u32 {
                    p.wrapping_add(q)
                }
            )*
        }
        /// Parameters and locals of the operator's own name.
        mod of_their_locals {
            use super::*;
            $(
                #[scan_op]
                pub(super) fn $name($name: u32, q: u32) -> u32 {
                    let $name = $name ^ q;
                    match $name { 0 => 1, $name => $name }
                }
            )*
        }
        #[test]
        fn operators_have_any_name() {
            $(
                assert_eq!((of_these_names::$name.combine(3, 4), of_these_names::$name.identity()), (7, Some(0)));
                assert_eq!(of_their_locals::$name.combine(3, 4), 7);
                assert_eq!(complaints(&of_these_names::$name) + &complaints(&of_their_locals::$name), "");
            )*
        }
    };
}

operators! {
    a b _b value identity lift combine project source op operator input state output length arguments rounds y parameters
    vectorized laws main std max
}

/// Operators with names of their own, whose functions stay functions: for callers, for other operators, and for locals
/// of their names.
mod of_other_names {
    use super::*;

    /// The larger one.
    #[scan_op(identity = 0, name = Larger, laws)]
    #[scan_fn]
    pub(super) const fn max(max: u32, q: u32) -> u32 {
        if max > q { max } else { q }
    }

    #[scan_op(name = LargerByte)]
    pub(super) fn max_byte(max: [u8; 2], mut q: [u8; 2]) -> [u8; 2] {
        q[0] = max_of(max[0], q[0]);
        q[1] = max_of(max[1], q[1]);
        q
    }

    #[scan_op(identity = 0, name = FirstSet)]
    pub(super) fn first_set(p: u32, q: u32) -> u32 {
        if p != 0 { p } else { q }
    }

    #[scan_fn]
    fn max_of(p: u8, q: u8) -> u8 {
        max(p as u32, q as u32) as u8
    }

    pub(super) fn locals(max: u32) -> u32 {
        let max = max + 1;
        match max {
            0 => 1,
            max => max,
        }
    }
}

#[test]
fn operators_have_names_of_their_own() {
    const NINE: u32 = of_other_names::max(9, 4);
    assert_eq!((NINE, of_other_names::locals(6)), (9, 7));
    assert_eq!(Scanner::cpu().scan(of_other_names::Larger).run(&[3, 1, 4, 1, 5]).unwrap(), [3, 3, 4, 4, 5]);
    assert_eq!(Scanner::cpu().reduce(of_other_names::LargerByte).run(&[[3, 1], [2, 4]]).unwrap(), [3, 4]);
    assert_eq!(of_other_names::max_byte([1, 2], [2, 1]), [2, 2]);
    assert_eq!(Scanner::cpu().scan(of_other_names::FirstSet).run(&[0, 3, 5]).unwrap(), [0, 3, 3]);
    assert_eq!(of_other_names::Larger.source().name, "Larger");
    assert_eq!(complaints(&of_other_names::Larger) + &complaints(&of_other_names::LargerByte), "");
}

/// What NVRTC says of an operator's kernels.
fn complaints(op: &impl ScanOp) -> String {
    scan_tests::nvrtc().unwrap();
    let mut source = Scanner::cpu().scan(scan_runtime::ops::sum::<u32>()).cuda_source().unwrap();
    let text = operator_text(&op.source(), Target::Cuda).unwrap();
    let (name, state) = (&text.operator, &text.state);
    source.text = format!(
        "{}\nextern \"C\" __global__ void run({name} op, {state} *x) {{ x[0] = op.combine(x[1], x[2]); }}\n",
        text.text.replace("#line here\n", "")
    );
    match nvrtc::compile(&source, "operator", Architecture { major: 9, minor: 0 }) {
        Ok(compiled) => compiled.log,
        Err(error) => error.to_string(),
    }
}

/// Ten times as deep for each step.
macro_rules! deep {
    ([] $name:ident $a:ident $b:ident $($e:tt)*) => {
        #[scan_op]
        fn $name($a: u32, $b: u32) -> u32 {
            let c: u32 = $($e)*;
            c ^ $b
        }
    };
    ([p $($rest:tt)*] $name:ident $a:ident $b:ident $e:tt) => { deep!([$($rest)*] $name $a $b (((((((((( $e ))))))))))); };
    ([b $($rest:tt)*] $name:ident $a:ident $b:ident $e:tt) => { deep!([$($rest)*] $name $a $b {{{{{{{{{{ $e }}}}}}}}}}); };
    ([n $($rest:tt)*] $name:ident $a:ident $b:ident $($e:tt)*) => { deep!([$($rest)*] $name $a $b !!!!!!!!!! $($e)*); };
    ([e $($rest:tt)*] $name:ident $a:ident $b:ident $($e:tt)*) => {
        deep!([$($rest)*] $name $a $b if $a == 1 { 2 } else if $a == 3 { $b } else if $a > 4 && $b > 4 { 5 }
            else if $b == 7 { 6 } else if $a == 8 { 2 } else if $a == 9 { $b } else if $a > 10 && $b > 14 { 5 }
            else if $b == 17 { 6 } else if $a == 18 { 2 } else if $a == 19 { $b } else $($e)*);
    };
    ([i $($rest:tt)*] $name:ident $a:ident $b:ident $e:tt) => {
        deep!([$($rest)*] $name $a $b { if $a > 1 { if $a > 2 { if $b > 3 { if $a > 4 { if $b > 5 {
            if $a > 6 { if $a > 7 { if $a > 8 { if $a > 9 { if $a > 10 $e else { 1 } } else { 2 } } else { 3 } } else { 4 } }
            else { 5 } } else { 6 } } else { 7 } } else { 8 } } else { 9 } } else { 10 } });
    };
}

deep!([p p p p p p p p p p] parentheses a b (a));
deep!([b b b b b b b b b b] blocks a b a);
deep!([e e e e e e e e e e e e e e e e e e e e e e e e e] else_ifs a b { a });
deep!([i i i i i i i i i i] ifs a b { a });
deep!([n n n n n n n n n n n n n n n n n n n n] signs a b a);

#[test]
fn deep_nesting_compiles_without_warnings() {
    assert_eq!(parentheses.combine(5, 3), 6);
    assert_eq!(blocks.combine(5, 3), 6);
    assert_eq!((else_ifs.combine(1, 3), else_ifs.combine(500, 0)), (1, 500));
    assert_eq!((ifs.combine(20, 20), ifs.combine(1, 0)), (0, 10));
    assert_eq!(signs.combine(5, 3), 6);
    for said in
        [complaints(&parentheses), complaints(&blocks), complaints(&else_ifs), complaints(&ifs), complaints(&signs)]
    {
        assert_eq!(said, "");
    }
    let text = operator_text(&parentheses.source(), Target::Cuda).unwrap().text;
    assert!(text.contains("u32 c = a;"), "{text}");
}

/// Inside a function, where a macro's output may not be what a module's is.
#[test]
fn operators_inside_a_function_compile_without_warnings() {
    #[scan_op]
    fn y(y: u32, b: u32) -> u32 {
        y ^ b
    }
    assert_eq!((y.combine(1, 2), complaints(&y).as_str()), (3, ""));
}

/// What C++ compilers warn of, and Rust allows or warns of itself.
mod warned {
    #![allow(unused, clippy::all, reason = "rustc warns of some of it, too")]
    use super::*;

    #[scan_element]
    #[derive(Clone, Copy)]
    struct Pair {
        unused: u32,
        second: u32,
    }

    #[scan_op]
    fn names(a: Pair, b: Pair) -> Pair {
        let unused = a.second ^ b.second;
        let mut assigned = false;
        assigned = b.second > 3;
        let late: u32;
        let (first, second) = (a, b);
        let Pair { unused: other, .. } = b;
        let again = b.unused;
        for i in 0..3_u32 {}
        second
    }

    #[scan_op]
    fn loops(a: u32, b: u32) -> u32 {
        let mut n = a;
        'never: loop {
            n ^= b;
            break;
        }
        'outer: loop {
            loop {
                return n;
                break 'outer n;
            }
        }
    }

    #[scan_op]
    fn same_label(a: u32, b: u32) -> u32 {
        let mut n = a & 7;
        'a: while n < 50 {
            n += 1;
            loop {
                continue 'a;
            }
        }
        'a: while n < 100 {
            n += 3;
            loop {
                continue 'a;
            }
        }
        n ^ b
    }

    #[scan_op]
    fn conditions(a: u32, b: u32) -> u32 {
        let mut a = a;
        a = a;
        if true {
            a ^= 1;
        }
        while false {
            a ^= 2;
        }
        let c = match a {
            0.. => b,
            _ => a,
        };
        let d = if b >= a || b == b { a } else { c };
        return d;
        a
    }

    /// A parameter that is given a value, and that nothing reads.
    #[scan_op]
    fn written(mut a: u32, mut b: u32) -> u32 {
        a = b;
        b = b ^ 1;
        b
    }

    #[scan_op]
    fn partly_written(mut a: Pair, b: Pair) -> Pair {
        a.unused = b.second;
        if b.second > 3 {
            a = b;
        }
        b
    }

    #[test]
    fn operators_with_repeated_names_compile_without_warnings() {
        let said = complaints(&names) + &complaints(&loops) + &complaints(&same_label) + &complaints(&conditions);
        assert_eq!(said, "");
        assert_eq!(complaints(&written) + &complaints(&partly_written), "");
        assert_eq!(written.combine(5, 3), 2);
        assert_eq!(loops.combine(5, 3), 6);
        assert_eq!(same_label.combine(5, 3), 102);
        assert_eq!(conditions.combine(5, 3), 4);
    }
}
