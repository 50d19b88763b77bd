//! Operators as CUDA text and errors with their places, by what the crate shows to others.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use quote::quote;
use scan_language::{Diagnostic, Piece, Translated, scan_element, scan_fn, scan_op, translate};

/// The CUDA text of operators without errors.
fn text(source: &str) -> String {
    translate(source).map_err(|errors| shown(&errors)).unwrap().to_string()
}

/// The errors, one a line, each with what it is about.
fn errors(source: &str) -> String {
    shown(&translate(source).unwrap_err())
}

fn shown(errors: &[Diagnostic]) -> String {
    errors.iter().map(|error| format!("{error} [{}]\n", error.rust)).collect()
}

#[test]
fn a_function_of_two_elements() {
    insta::assert_snapshot!(text("#[scan_op(identity = 0)] fn add(a: u32, b: u32) -> u32 { a.wrapping_add(b) }"), @r"
    ‹u32› add::combine(‹u32› a, ‹u32› b) {
      return a + b;
    }
    ");
}

#[test]
fn a_function_whose_operator_has_another_name() {
    let source = "#[scan_op(name = Max)] const fn max(max: u32, b: u32) -> u32 { if max > b { max } else { b } }";
    insta::assert_snapshot!(text(source), @r"
    ‹u32› Max::combine(‹u32› max, ‹u32› b) {
      return max > b ? max : b;
    }
    ");
    insta::assert_snapshot!(
        errors("#[scan_op(name = max)] fn max(a: u32, b: u32) -> u32 { a }"),
        @"1:18: the function is called `max`: give its operator another name, such as `Op` [max]"
    );
    insta::assert_snapshot!(errors("#[scan_op(name = Max)] impl ScanOp for Op { type Element = u32; }"), @r"
    1:11: in an impl, the operator is the type that it is for, and has its name [name]
    1:40: `Op` has no `fn combine(a: u32, b: u32) -> u32` [Op]
    ");
}

#[test]
fn structs_are_written_field_by_field() {
    let source = "
        #[scan_element]
        #[derive(Clone, Copy)]
        struct Affine { a: f32, b: f32 }

        #[scan_op(identity = Affine { a: 1.0, b: 0.0 })]
        fn compose(f: Affine, g: Affine) -> Affine {
            let scaled = Affine { b: 0.0, ..f };
            Affine { a: scaled.a * g.a, b: g.a * f.b + g.b }
        }
    ";
    insta::assert_snapshot!(text(source), @r"
    ‹Affine› compose::combine(‹Affine› f, ‹Affine› g) {
      auto scaled = ‹Affine›{b: 0.0, ..f};
      return ‹Affine›{a: scaled.a * g.a, b: g.a * f.b + g.b};
    }
    ");
}

#[test]
fn every_function_of_an_operator_with_parameters() {
    let source = "
        struct Banded { limit: u32, period: u32 }

        #[scan_op]
        impl ScanOp for Banded {
            type Input = u8;
            type State = u32;
            type Output = bool;
            const IDENTITY: u32 = 0;
            fn lift(x: u8) -> u32 { x as u32 }
            fn combine(&self, a: u32, b: u32) -> u32 { (a + b) % self.period }
            fn project(&self, s: u32) -> bool { s <= self.limit }
        }
    ";
    insta::assert_snapshot!(text(source), @r"
    ‹u32› Banded::lift(‹u8› x) {
      return as<‹u32›>(x);
    }

    ‹u32› Banded::combine(‹u32› a, ‹u32› b) {
      return (a + b) % invariant(this->period);
    }

    ‹bool› Banded::project(‹u32› s) {
      return s <= this->limit;
    }
    ");
}

#[test]
fn a_stepped_operator_with_a_match() {
    let source = "
        #[scan_op]
        impl ScanOp for Quoted {
            type Input = u8;
            type State = bool;
            type Carry = bool;
            type Output = bool;
            const IDENTITY: bool = false;
            const START: bool = false;
            fn lift(x: u8) -> bool { x == b'\"' }
            fn combine(a: bool, b: bool) -> bool { a != b }
            fn apply(s: bool, c: bool) -> bool { s != c }
            fn step(c: bool, x: u8) -> bool {
                match (c, x) { (_, b'\"') => !c, _ => c }
            }
        }
    ";
    insta::assert_snapshot!(text(source), @r"
    ‹bool› Quoted::lift(‹u8› x) {
      return x == ‹u8›(34);
    }

    ‹bool› Quoted::combine(‹bool› a, ‹bool› b) {
      return a != b;
    }

    ‹bool› Quoted::apply(‹bool› s, ‹bool› c) {
      return s != c;
    }

    ‹bool› Quoted::step(‹bool› c, ‹u8› x) {
      if (x == ‹u8›(34)) {
        return !c;
      } else {
        return c;
      }
    }
    ");
}

#[test]
fn loops_over_arrays_with_what_only_rustc_knows() {
    let source = "
        mod matrices {
            #[scan_fn]
            pub fn product<const N: usize>(a: [[f32; N]; N], b: [[f32; N]; N]) -> [[f32; N]; N] {
                let mut c = [[0.0_f32; N]; N];
                for i in 0..N {
                    for j in 0..N {
                        for k in 0..N { c[i][j] += a[i][k] * b[k][j]; }
                    }
                }
                c
            }
        }

        #[scan_op]
        fn transitions(a: [[f32; SIZE]; SIZE], b: [[f32; SIZE]; SIZE]) -> [[f32; SIZE]; SIZE] {
            matrices::product::<SIZE>(a, b)
        }
    ";
    insta::assert_snapshot!(text(source), @r"
    ‹[[f32; N]; N]› product(‹[[f32; N]; N]› a, ‹[[f32; N]; N]› b) {
      auto c = repeat<(‹N›).value>(repeat<(‹N›).value>(‹f32›(0.0f)));
      for (auto i : range(0, ‹N›)) {
        for (auto j : range(0, ‹N›)) {
          for (auto k : range(0, ‹N›)) {
            c[i][j] += a[i][k] * b[k][j];
          }
        }
      }
      return c;
    }

    ‹[[f32; SIZE]; SIZE]› transitions::combine(‹[[f32; SIZE]; SIZE]› a, ‹[[f32; SIZE]; SIZE]› b) {
      return ‹matrices::product::<SIZE>›(a, b);
    }
    ");
}

#[test]
fn pieces_say_which_rust_fills_them_and_from_which_line_they_come() {
    let source = "#[scan_op]\nfn first(a: Pair, b: Pair) -> Pair {\n    Pair { key: fresh(EMPTY), ..a }\n}";
    let Translated { functions, .. } = translate(source).unwrap();
    let [combine] = functions.as_slice() else { panic!("{functions:?}") };
    assert_eq!((combine.operator.as_deref(), combine.name.as_str()), (Some("first"), "combine"));
    let parameters: Vec<_> = combine.parameters.iter().map(|one| (one.name.as_str(), one.ty.as_str())).collect();
    assert_eq!((parameters.as_slice(), combine.returns.as_str()), ([("a", "Pair"), ("b", "Pair")].as_slice(), "Pair"));
    let key = [
        Piece::Function("fresh".into()),
        Piece::Text("(".into()),
        Piece::Constant("EMPTY".into()),
        Piece::Text(")".into()),
    ];
    let value = Piece::Struct {
        ty: Some("Pair".into()),
        fields: vec![("key".into(), key.to_vec())],
        base: Some(vec![Piece::Name("a".into())]),
    };
    assert_eq!(combine.body, [Piece::Line(3), Piece::Text("return ".into()), value, Piece::Text(";\n".into())]);
}

#[test]
fn all_errors_of_all_items_come_at_once_with_their_places() {
    let source = "\
#[scan_element]
union Both { a: u32, b: f32 }

#[scan_op(identity = 0, order = 1)]
fn add(a: u32, b: u32) -> u32 {
    let r = &a;
    let größer = a.maximum(b); helper(b)?
}

mod inner {
    #[scan_op]
    impl ScanOp for Mean {
        type Input = f32;
        type State = (f32, u32);
        const IDENTITY: (f32, u32) = (0.0, 0);
        fn reset(a: f32) -> f32 { a }
    }

    #[scan_fn]
    struct NoFunction;

    impl Mean {
        #[scan_fn]
        fn of(&self) -> f32 { 0.0 }
    }
}
";
    insta::assert_snapshot!(errors(source), @r"
    2:1: a union is not an element: use a struct with a field for each part [union]
    4:25: unknown option `order`: there is `identity = …`, `name = …`, `laws`, `gradient` and `crate = …` [order]
    6:13: there are no references in an operator: use the value itself [&a]
    7:20: no method `maximum` in an operator: write `max`, or compare with `>` where a NaN must stay [maximum]
    7:32: `?` is outside the operator language: an operator always has a value [helper(b)?]
    12:21: `Mean` has no `fn combine(a: (f32 , u32), b: (f32 , u32)) -> (f32 , u32)` [Mean]
    13:14: `Input` and `State` differ, so the operator needs `fn lift(x: f32) -> (f32 , u32)` [Input]
    16:12: no function `reset` in `ScanOp`: there are `combine`, `lift` and `project` where needed, and `append`, `prepend`, `apply`, `step` and `emit`, or `advance` [reset]
    20:5: `#[scan_fn]` stands on a function [struct NoFunction;]
    24:15: `#[scan_fn]` stands on a function outside of any `impl`: hand the value over [&self]
    ");
}

#[test]
fn errors_of_later_passes_have_places_too() {
    let source = "\
#[scan_fn]
fn f(a: u32) -> u32 {
    let x = { a; };
    x
}
";
    insta::assert_snapshot!(errors(source), @"3:15: this block has no value: leave the last `;` out [a;]");
}

#[test]
fn what_is_no_rust_is_one_error_where_the_parser_stops() {
    insta::assert_snapshot!(errors("#[scan_op]\nfn add(a: u32, b: u32) -> u32 { a + }"), @"2:37: unexpected end of input, expected an expression [}]");
    insta::assert_snapshot!(errors("#[scan_op]\nfn add(a: u32"), @"2:7: cannot parse string into token stream []");
    insta::assert_snapshot!(errors("#[scan_op]\n"), @"2:1: unexpected end of input, expected one of: `fn`, `extern`, `use`, `static`, `const`, `unsafe`, `mod`, `type`, `struct`, `enum`, `union`, `impl`, `trait`, `auto`, `default`, `macro`, identifier, `self`, `super`, `crate`, `::` []");
    insta::assert_snapshot!(errors("#[scan_op = 1]\nfn add(a: u32, b: u32) -> u32 { a + b }"), @"1:11: expected `(` [=]");
}

#[test]
fn a_text_without_marked_items_has_no_functions() {
    assert_eq!(translate("fn add(a: u32, b: u32) -> u32 { *&a + b }"), Ok(Translated::default()));
    assert_eq!(translate(""), Ok(Translated::default()));
}

/// A test runs on 2 MiB.
#[test]
fn the_deepest_code_is_translated_on_any_thread_and_deeper_code_is_refused() {
    let nested =
        |times: usize| format!("#[scan_fn] fn f(a: u32) -> u32 {{ {}a{} }}", "(".repeat(times), ")".repeat(times));
    let parentheses = text(&nested(160));
    assert!(parentheses.contains("return a;") || parentheses.contains("(a)"), "{parentheses}");
    let refused = translate(&nested(10_000)).unwrap_err();
    assert!(refused.len() == 1 && refused[0].message.contains("nests too deep"), "{refused:?}");
}

#[test]
fn a_long_file_does_not_nest() {
    let item = "#[scan_fn] pub fn f(a: u32, b: [u32; 4]) -> u32 { a }\n";
    assert_eq!(translate(&item.repeat(3000)).unwrap().functions.len(), 3000);
}

#[test]
fn macros_keep_the_users_rust_and_add_to_it() {
    let combine = quote!(a.max(b));
    let largest = quote!(fn largest(a: u8, b: u8) -> u8 { #combine });
    let expanded = scan_op(quote!(identity = 0, crate = renamed), largest.clone()).to_string();
    assert!(
        expanded.contains(&combine.to_string()) && expanded.contains("renamed :: ScanOp for largest"),
        "{expanded}"
    );
    assert!(!expanded.contains("compile_error"), "{expanded}");
    let function = scan_fn(quote!(), largest.clone()).to_string();
    assert!(function.starts_with(&largest.to_string()), "{function}");
    let element = quote!(
        enum Side {
            Left,
            Right,
        }
    );
    let expanded = scan_element(quote!(), element.clone()).to_string();
    assert!(expanded.contains(&element.to_string()) && expanded.contains("repr (u8)"), "{expanded}");
}

#[test]
fn macros_report_every_error() {
    let wrong = quote!(
        fn add(a: u8, b: u8) -> u8 {
            let r = &a;
            b?
        }
    );
    for expanded in [scan_op(quote!(order = 1), wrong.clone()), scan_fn(quote!(order = 1), wrong)] {
        assert_eq!(expanded.to_string().matches("compile_error").count(), 3, "{expanded}");
    }
    assert!(
        scan_element(
            quote!(),
            quote!(
                struct Empty;
            )
        )
        .to_string()
        .contains("compile_error")
    );
}

/// Each half has what its own result needs.
#[test]
fn a_stepped_operator_that_advances_has_a_step_and_an_emit() {
    let source = "
        #[scan_op]
        impl ScanOp for Decoder {
            type Input = u8;
            type State = Row;
            type Carry = Char;
            type Output = u32;
            const IDENTITY: Row = Row::START;
            const START: Char = Char::START;
            fn lift(x: u8) -> Row { ROWS[x as usize] }
            fn combine(a: Row, b: Row) -> Row { Row { next: b.next } }
            fn apply(s: Row, c: Char) -> Char { Char { bits: s.next, left: 0 } }
            fn advance(&self, c: Char, x: u8) -> (Char, u32) {
                if x < 128 {
                    return (Self::START, x as u32);
                }
                let mut bits = c.bits;
                let mut checked = 0_u32;
                for i in 0..4_u32 {
                    checked += x as u32 >> i;
                }
                bits = bits << 6 | (x & 63) as u32;
                let left = match c.left {
                    0 => 3_u8,
                    n => n - 1,
                };
                if left == 0 { (Self::START, bits) } else { (Char { bits, left }, checked) }
            }
        }
    ";
    let translated = text(source);
    let advanced = translated.find("‹Char› Decoder::step").unwrap();
    insta::assert_snapshot!(&translated[advanced..], @r"
    ‹Char› Decoder::step(‹Char› c, ‹u8› x) {
      if (x < 128) {
        return ‹Self::START›;
      }
      auto bits = c.bits;
      bits = (bits << 6) | as<‹u32›>(x & 63);
      auto left = c.left == 0 ? ‹u8›(3) : c.left - 1;
      return chosen(left == 0, ‹Self::START›, ‹Char›{bits: bits, left: left});
    }

    ‹u32› Decoder::emit(‹Char› c, ‹u8› x) {
      if (x < 128) {
        return as<‹u32›>(x);
      }
      auto bits = c.bits;
      auto checked = ‹u32›(0);
      for (auto i : range(0, ‹u32›(4))) {
        checked += as<‹u32›>(x) >> i;
      }
      bits = (bits << 6) | as<‹u32›>(x & 63);
      auto left = c.left == 0 ? ‹u8›(3) : c.left - 1;
      return left == 0 ? bits : checked;
    }
    ");
}

/// What cannot be taken apart, and what both halves have, each once.
#[test]
fn errors_of_a_function_that_advances_come_once() {
    let source = "
#[scan_op]
impl ScanOp for Counter {
    type Element = u32;
    type Carry = u32;
    const IDENTITY: u32 = 0;
    const START: u32 = 0;
    fn combine(a: u32, b: u32) -> u32 { a + b }
    fn apply(s: u32, c: u32) -> u32 { s + c }
    fn advance(c: u32, x: u32) -> (u32, u32) {
        let r = &c;
        if x == 1 {
            return both(c, x);
        }
        let mut n = c;
        match x {
            2 => (c, x, x),
            3 => loop { break (c, x); },
            4 => ({ n += 1; n }, n),
            _ => (c, x.maximum(c)),
        }
    }
}
#[scan_op]
impl ScanOp for Both {
    type Element = u32;
    fn step(c: u32, x: u32) -> u32 { c }
    fn advance(c: u32) -> (u32, u32) { (c, c) }
}
";
    insta::assert_snapshot!(errors(source), @"
    11:17: there are no references in an operator: use the value itself [&c]
    13:20: `advance` gives its two results as a tuple that is written in place: `(carry, output)`, with a value for each [both(c, x)]
    17:18: `advance` gives its two results as a tuple that is written in place: `(carry, output)`, with a value for each [(c, x, x)]
    18:25: leave the loop by `return (carry, output)`: a `break` has a single value [break (c, x)]
    19:19: `step` and `emit` each compute one item of this tuple, so neither may assign or leave: bind the value by a `let` before it [{ n += 1; n }]
    20:24: no method `maximum` in an operator: write `max`, or compare with `>` where a NaN must stay [maximum]
    27:8: `advance` is `step` and `emit` in one: remove `step`, or write both of them in place of `advance` [step]
    28:8: `Both` tells how an input moves the carry on, and not what a part of the input does to any carry: that is what parts are scanned by at the same time. Add it as a monoid: `type State`, `IDENTITY`, `lift`, `combine`, and `fn apply(s: State, c: Carry) -> Carry`. Where no small `State` tells it (FNV-1a has none), it is no scan [advance]
    28:16: takes 2 values: `fn advance(c: Carry, x: Input) -> (Carry, Output)` [c: u32]
    ");
}

/// The text of a function of a backward pass, with shorter names of what it uses.
fn short(text: &str, function: &str) -> String {
    let text = text.split(function).nth(1).unwrap().split("\n}\n").next().unwrap();
    let of_scalar = "<<f64 as::scan_runtime::gradient::Components>::Scalar as::scan_runtime::ops::Number>::";
    let of_element = "<f64 as::scan_runtime::gradient::Components>::";
    let names = [of_scalar, of_element, "::scan_runtime::gradient::private::", "::scan_runtime::gradient::"];
    names.iter().fold(text.to_owned(), |text, name| text.replace(name, ""))
}

#[test]
fn the_gradient_of_an_operator_is_one_in_the_same_language() {
    let source = "
    #[scan_op(identity = 1.0, name = Product, gradient)]
    fn product(a: f64, b: f64) -> f64 {
        if a == 0.0 {
            return 0.0;
        }
        a * b
    }
    ";
    insta::assert_snapshot!(short(&text(source), "ProductGradient::emit"), @r"
    (‹f64› scan_adjoint, ‹Backward<f64, f64, f64>› scan_item) {
      auto scan_before = scan_item.before;
      auto scan_input = scan_item.x;
      auto scan_gradient = scan_item.gradient;
      ‹f64› scan_sum = ‹ZERO›;
      for (auto scan_index : range(0, ‹COUNT›)) {
        auto scan_of_input = ‹add_at::<f64>›(‹ZERO›, scan_index, ‹ONE›);
        ‹f64› a = scan_before;
        ‹f64› b_t = scan_of_input;
        ‹f64› b [[maybe_unused]] = scan_input;
        ‹f64› scan_after_change = (a == 0.0 ? 0.0 : (a * b_t));
        scan_sum = ‹add_at::<f64>›(scan_sum, scan_index, as<‹Scalar›>(‹dot::<f64>›(scan_after_change, scan_adjoint)));
        scan_sum = ‹add_at::<f64>›(scan_sum, scan_index, as<‹Scalar›>(‹dot::<f64>›(scan_after_change, scan_gradient)));
      }
      return scan_sum;
    ");
}

/// Tangents of what changes in the direction alone: in that of the carry the input is a constant.
#[test]
fn a_gradient_follows_branches_loops_and_functions() {
    let source = "
    struct Op;
    #[scan_op(gradient(gain: f64))]
    impl ScanOp for Op {
        type Element = f64;
        const IDENTITY: f64 = 0.0;
        fn lift(&self, x: f64) -> f64 {
            let mut sum = 0.0_f64;
            for i in 0..3_u32 {
                if x > i as f64 {
                    sum += share(self.gain, x);
                }
            }
            sum
        }
        fn combine(a: f64, b: f64) -> f64 {
            a + b.exp()
        }
    }
    ";
    insta::assert_snapshot!(short(&text(source), "OpGradient::emit"), @r"
    (‹WithParameters<f64, OpParameters>› scan_adjoint, ‹Backward<f64, f64, f64>› scan_item) {
      auto scan_before = scan_item.before;
      auto scan_input = scan_item.x;
      auto scan_gradient = scan_item.gradient;
      ‹f64› scan_sum = ‹ZERO›;
      for (auto scan_index : range(0, ‹COUNT›)) {
        auto scan_of_input = ‹add_at::<f64>›(‹ZERO›, scan_index, ‹ONE›);
        ‹f64› x = scan_input;
        auto sum = ‹f64›(0.0);
        for (auto i : range(0, ‹u32›(3))) {
          if (x > as<‹f64›>(i)) {
            sum += ‹share›(this->gain, x);
          }
        }
        ‹f64› scan_lifted = sum;
        ‹f64› x_t = scan_of_input;
        ‹f64› x_1 = scan_input;
        auto sum_t = ‹f64›(0.0);
        auto sum_1 = ‹f64›(0.0);
        for (auto i_1 : range(0, ‹u32›(3))) {
          if (x_1 > as<‹f64›>(i_1)) {
            sum_t += ‹tangent2::<share>›(this->gain, ‹ZERO›, x_1, x_t);
            sum_1 += ‹share›(this->gain, x_1);
          }
        }
        ‹f64› scan_lifted_change = sum_t;
        ‹f64› a [[maybe_unused]] = scan_before;
        ‹f64› b_t = scan_lifted_change;
        ‹f64› b = scan_lifted;
        auto scan_1 = b.exp();
        ‹f64› scan_after_change = (scan_1 * b_t);
        scan_sum = ‹add_at::<f64>›(scan_sum, scan_index, as<‹Scalar›>(‹dot::<f64>›(scan_after_change, scan_adjoint.state)));
        scan_sum = ‹add_at::<f64>›(scan_sum, scan_index, as<‹Scalar›>(‹dot::<f64>›(scan_after_change, scan_gradient)));
      }
      return scan_sum;
    ");
}

#[test]
fn what_a_gradient_does_not_follow_is_an_error_at_the_expression() {
    let source = "
    #[scan_op(gradient)]
    fn op(a: f64, b: f64) -> f64 {
        let n = 3_i32;
        a.powi(n) + f64::from_bits(b.to_bits())
    }
    ";
    insta::assert_snapshot!(errors(source), @r"
    5:9: the gradient of `powi` needs a number for the exponent; or write `powf` [a.powi(n)]
    5:36: the bits of a float have no derivative: compute with the float [b.to_bits()]
    ");
}
