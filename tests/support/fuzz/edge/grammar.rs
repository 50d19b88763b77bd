//! The grammar of the programs: an element type of any kind, items around the operator, and a body of snippets.

use crate::emulated::Random;

/// The constant that every program ends with: its operator.
pub(super) const OPERATOR: &str = "THE_OPERATOR";

/// Names that Rust allows everywhere, and C++, CUDA, the prelude or the kernels use for something else.
const NAMES: [&str; 34] = [
    "int",
    "register",
    "r#type",
    "std",
    "main",
    "threadIdx",
    "input",
    "state",
    "output",
    "tile",
    "value",
    "x",
    "_x",
    "__x",
    "größe",
    "warpSize",
    "combine",
    "lift",
    "i32",
    "u8",
    "float2",
    "assert",
    "NULL",
    "min",
    "range",
    "panic",
    "len",
    "op",
    "left",
    "right",
    "double",
    "template",
    "operator",
    "r#struct",
];

const INTEGERS: [&str; 12] = ["i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize"];

/// What values of the element type are.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Integer,
    Float,
    Bool,
    Struct,
    Array,
    Enum,
}

/// Snippets for every type. `{a}` and `{b}` are the parameters, `{T}` the type, `{v}` a fresh name or an odd one.
const OF_ANY: &[&str] = &[
    "let {v} = {a};",
    "let {v} = { let {a} = {b}; {a} };",
    "let {v}; {v} = {b};",
    "let mut {v} = {a}; {v} = {b};",
    "let ({v}, _) = ({a}, {b});",
    "let [{v}, ..] = [{a}, {b}];",
    "let {v} = [{a}, {b}][1];",
    "let {v} = [{a}; 3];",
    "let {v}: [{T}; 0] = [];",
    "let {v} = ({a}, {b}).1;",
    "let {v} @ _ = {a};",
    "let {v} = if true { {a} } else { {b} };",
    "let {v} = loop { break {a}; };",
    "'outer: loop { break 'outer; }",
    "'outer: for i in 0..3 { for j in 0..2 { if i == j { continue 'outer; } } }",
    "'unused: for _ in 0..2 {}",
    "for {v} in 0..4_u32 {}",
    "for {v} in (0..=4_i64).rev() { let _ = {v}; }",
    "for {v} in [{a}, {b}] { let _ = {v}; }",
    "while false {}",
    "loop { if true { break; } }",
    "if false { return {b}; }",
    "match true { true => {}, false => {} }",
    "match (1_u8, true) { (0, _) => {}, (1..=3, true) => {}, (x, _) if x > 7 => {}, _ => {} }",
    "match 7_i32 { i32::MIN..=-1 => {}, 0 => {}, 1.. => {} }",
    "match 3_u32 { n @ (1 | 2) => { let _ = n; } mut m => { m = 1; } }",
    "let Some({v}) = Some({a}) else { return {b} };",
    "if let Some({v}) = Some({a}) {}",
    "let {v} = |x: {T}| x;",
    "let {v} = &{a}; let _ = *{v};",
    "let {v} = helper({a});",
    "let {v} = marked({a}, {b});",
    "let {v} = mac!({a});",
    "both!({v}, {a}, {b});",
    "const K: {T} = CONSTANT; let {v} = K;",
    "static S: u32 = 7; let {v} = S;",
    "fn inner(x: u32) -> u32 { x + 1 } let {v} = inner(3);",
    "struct Inner(u32); let {v} = Inner(3).0;",
    "use std::cmp::max; let {v} = max(1_u32, 2);",
    "let {v} = CONSTANT;",
    "let {v} = TABLE[1];",
    "assert!(true);",
    "debug_assert!(1 < 2, \"never {}\", 1);",
    "#[allow(unused)] let {v} = {b};",
    "let {v} = ();",
    "let {v} = 'a' as u32;",
    "let {v} = b'\\\\';",
    "let {v} = \"text\";",
    "let {v} = {{{{ {a} }}}};",
    "let {v} = ((((({a})))));",
    "let {v} = unsafe { {a} };",
    "let {v} = 1e-400_f64;",
    "let {v} = 1e-60_f32 + 1e38_f32 * 10.0;",
    "let {v} = 0xffff_ffff_ffff_ffff_u64 >> 63;",
    "let {v} = -9223372036854775808_i64;",
    "let {v} = 340282366920938463463374607431768211455_u128;",
    "let {v} = i128::MIN; let _ = {v} / 3;",
    "let {v} = f64::MIN_POSITIVE / 2.0;",
    "let {v} = f32::NAN.max(-0.0);",
    "let {v} = {a}.clone();",
    "let {v} = Default::default(); let _: u32 = {v};",
    "let {v}: u32 = 5; let {v} = {v} + 1; let {v} = {v} as f32;",
    "let mut {v} = 1_u32; { let {v} = 2_u32; } {v} += 1;",
    ";;",
];

const OF_NUMBERS: &[&str] = &[
    "let {v} = {a} + {b};",
    "let {v} = {a} - {b} * {a} / {b} % {a};",
    "let mut {v} = {a}; {v} += {b}; {v} *= {a};",
    "let {v} = {a} < {b} && {a} >= {b} || !({a} == {b});",
    "let {v} = {a}.max({b}).min({a});",
    "let {v} = {a}.clamp({T}::MIN, {T}::MAX);",
    "let {v} = <{T}>::MAX;",
    "let {v} = {T}::max({a}, {b});",
    "let {v} = Ord::max(1_u32, 2);",
    "let {v} = {a} as f32 as u8 as i64 as f64;",
    "let {v} = {a} as {T} as u128;",
    "let {v} = add_all({a}, {b});",
    "let {v} = [{a}, {b}].iter().sum::<{T}>();",
    "let {v} = {a}.partial_cmp(&{b});",
    "match {a} { x if x > {b} => {}, _ => {} }",
];

const OF_INTEGERS: &[&str] = &[
    "let {v} = {a}.wrapping_add({b}).saturating_sub({a}).wrapping_mul({b});",
    "let {v} = {a}.rotate_left(5).swap_bytes().reverse_bits();",
    "let {v} = {a}.count_ones() + {b}.leading_zeros() + {a}.trailing_zeros();",
    "let {v} = {a} & {b} | {a} ^ !{b};",
    "let {v} = {a} << 3 >> 1;",
    "let {v} = {a} << {b};",
    "let {v} = {a}.pow(3);",
    "let {v} = {a}.abs_diff({b});",
    "let {v} = {a}.checked_add({b}).unwrap_or({a});",
    "let {v} = {a}.overflowing_mul({b}).0;",
    "let {v} = {a}.rem_euclid({b}).div_euclid(3);",
    "let {v} = {a}.isqrt();",
    "let {v} = {a}.ilog2();",
    "let {v} = {a}.abs();",
    "let {v} = {a}.signum();",
    "let {v} = {a}.wrapping_neg();",
    "let {v} = -{a};",
    "let {v} = {a}.wrapping_shl({b} as u32);",
    "match {a} { 0 => {}, 1..=9 | 11 => {}, {T}::MAX => {}, _ => {} }",
    "for {v} in 0..({a} as usize % 3) {}",
    "let {v} = TABLE[{a} as usize % 2];",
    "let {v} = {a}.cmp(&{b});",
    "let {v} = {a} != 0;",
    "let {v} = {a} as u8 as char;",
    "let {v} = {a}.is_power_of_two();",
    "let {v} = {a}.midpoint({b});",
];

const OF_FLOATS: &[&str] = &[
    "let {v} = {a}.sqrt().exp().ln();",
    "let {v} = {a}.sin().atan2({b});",
    "let {v} = {a}.mul_add({b}, {a});",
    "let {v} = {a}.powi(-3).powf({b});",
    "let {v} = {a}.to_bits();",
    "let {v} = {a}.is_nan() || {b}.is_infinite();",
    "let {v} = {a}.floor().ceil().trunc().round();",
    "let {v} = {a}.total_cmp(&{b});",
    "let {v} = {a}.copysign({b}).abs().signum();",
    "let {v} = -{a};",
    "let {v} = {a} == 0.0;",
    "let {v} = {T}::EPSILON + {T}::INFINITY + {T}::NAN;",
    "let {v} = std::f64::consts::PI;",
    "let {v} = {a}.rem_euclid({b});",
    "let {v} = {a}.round_ties_even();",
    "let {v} = {a}.hypot({b}).cbrt().tanh();",
    "match {a} { 0.0 => {}, 1.0..=2.0 => {}, _ => {} }",
];

const OF_BOOLS: &[&str] = &[
    "let {v} = {a} && !{b} || {a};",
    "let {v} = {a} & {b} | {a} ^ {b};",
    "let {v} = {a}.max({b});",
    "let {v} = {a} < {b};",
    "let {v} = {a} as u8 + {b} as u8;",
    "let {v} = {a}.then(|| 1);",
    "match ({a}, {b}) { (true, _) => {}, (_, false) => {}, _ => {} }",
];

const OF_STRUCTS: &[&str] = &[
    "let {v} = {a} * {b};",
    "let {v} = -{a};",
    "let {v} = {a} + {b};",
    "let mut {v} = {a}; {v} += {b};",
    "let {v} = {a} == {b};",
    "let {v} = {a} < {b};",
    "let {v} = {a}.max({b});",
    "let {v} = {a}.abs();",
    "let {v} = {a}.pow(2);",
    "let {v} = {a}.len();",
    "let {v} = {T}::new(1);",
    "let {v} = {T}::default();",
    "let {v} = {T} { first: 1, ..{a} };",
    "let {v} = {T} { second: 2.0, first: 1 };",
    "let {T} { first, .. } = {a}; let {v} = first;",
    "let {T} { first: {v}, second: _ } = {a};",
    "let {v} = {a}.first + {b}.first;",
    "let mut {v} = {a}; {v}.first = 3;",
    "match {a} { {T} { first: 0, .. } => {}, {T} { first, .. } => { let _ = first; } }",
    "let {v} = {a} != {b};",
    "let {v} = add_all({a}, {b});",
    "let {v} = Twice::twice({a});",
    "let {v} = {a}.twice();",
];

const OF_ARRAYS: &[&str] = &[
    "let {v} = {a} == {b};",
    "let {v} = {a} < {b};",
    "let {v} = {a}[0] + {b}[2];",
    "let {v} = {a}[3];",
    "let [{v}, _, z] = {a};",
    "let [{v}, ..] = {a};",
    "let mut {v} = {a}; {v}[1] += 1;",
    "let {v} = {a}.len();",
    "let {v} = {a}.max({b});",
    "for {v} in {a} { let _ = {v} + 1; }",
    "let {v} = {a}.iter().sum::<u32>();",
    "let {v} = {a}.map(|x| x + 1);",
    "let mut {v} = {a}; {v}.swap(0, 1);",
    "let {v} = &{a}[1..];",
    "for i in 0..{a}.len() { let _ = {a}[i]; }",
    "match {a} { [0, ..] => {}, [_, x, _] => { let _ = x; } }",
];

const OF_ENUMS: &[&str] = &[
    "let {v} = {a} == {b};",
    "let {v} = {a} < {b};",
    "let {v} = {a}.max({b});",
    "let {v} = {a} as u32;",
    "match {a} { {T}::Zero => {}, {T}::One | {T}::r#Type => {} }",
    "match ({a}, {b}) { (x, {T}::One) => { let _ = x; } _ => {} }",
    "let {v} = {T}::One;",
    "let {v} = {a}.twice();",
    "if let {T}::Zero = {a} {}",
    "let {v} = matches!({a}, {T}::One);",
    "use {T}::*; let {v} = Zero;",
];

/// A name for a type of the user's.
const TYPES: [&str; 10] = ["Pair", "std", "Array", "Op", "Input", "float2", "Table", "T", "__Pair", "Größe"];

fn one<'a>(random: &mut Random, of: &[&'a str]) -> &'a str {
    of[random.below(of.len())]
}

/// A module: an operator and what stands around it.
pub(super) fn program(random: &mut Random) -> String {
    let user = one(random, &TYPES);
    let kinds = [Kind::Integer, Kind::Integer, Kind::Float, Kind::Bool, Kind::Struct, Kind::Array, Kind::Enum];
    let kind = kinds[random.below(kinds.len())];
    let ty = match kind {
        Kind::Integer => one(random, &INTEGERS),
        Kind::Float => one(random, &["f32", "f64"]),
        Kind::Bool => "bool",
        Kind::Struct | Kind::Enum => user,
        Kind::Array => "[u32; 3]",
    };
    let (constant, own): (String, &[&str]) = match kind {
        Kind::Integer => (format!("{ty}::{}", one(random, &["MAX", "MIN", "MAX / 3"])), OF_INTEGERS),
        Kind::Float => (one(random, &["-0.0", "0.1", "1e-45", "1e38", "5e-324"]).to_owned(), OF_FLOATS),
        Kind::Bool => ("true".to_owned(), OF_BOOLS),
        Kind::Struct => (format!("{ty} {{ first: 7, second: -0.5 }}"), OF_STRUCTS),
        Kind::Array => ("[1, 2, u32::MAX]".to_owned(), OF_ARRAYS),
        Kind::Enum => (format!("{ty}::One"), OF_ENUMS),
    };
    let mut text = String::from("use scan_runtime::{ScanElement, ScanOp, scan_element, scan_fn, scan_op};\n\n");
    text += &declaration(random, kind, user);
    text += &format!("pub const CONSTANT: {ty} = {constant};\nconst TABLE: [{ty}; 2] = [CONSTANT; 2];\n");
    text += "macro_rules! mac { ($e:expr) => { { let x = $e; x } }; }\n";
    text += "macro_rules! both { ($n:ident, $a:expr, $b:expr) => { let y = $b; let $n = ($a, y).0; }; }\n";
    text += &format!("fn helper(x: {ty}) -> {ty} {{ x }}\n");
    text += &format!("#[scan_fn]\nfn marked(a: {ty}, b: {ty}) -> {ty} {{ let _ = a; b }}\n");
    if random.one_in(3) {
        text += "#[scan_fn]\nfn add_all<T: std::ops::Add<Output = T> + ScanElement>(a: T, b: T) -> T { a + b }\n";
    } else {
        text += "fn add_all<T>(a: T, _: T) -> T { a }\n";
    }

    let [mut a, mut b] = [one(random, &NAMES), one(random, &NAMES)];
    if random.one_in(2) {
        (a, b) = ("a", "b");
    }
    let fill =
        |snippet: &str, v: &str| snippet.replace("{a}", a).replace("{b}", b).replace("{T}", ty).replace("{v}", v);
    let mut body = String::new();
    for number in 0..random.below(4) {
        let snippets = match random.below(5) {
            0 | 1 => OF_ANY,
            2 if matches!(kind, Kind::Integer | Kind::Float) => OF_NUMBERS,
            _ => own,
        };
        let fresh = format!("v{number}");
        let v = if random.one_in(4) { one(random, &NAMES) } else { &fresh };
        body += &format!("    {}\n", fill(one(random, snippets), v));
        // What is used nowhere is a warning of rustc's too; what the text leaves unused must not be one of NVRTC's.
        if random.one_in(2) && !v.starts_with("r#") && body.contains(&format!("let {v} =")) {
            body += &format!("    let _ = {v};\n");
        }
    }
    let results: &[&str] = match kind {
        Kind::Integer => {
            &["{a}", "{a} & {b}", "{a}.wrapping_add({b})", "if {a} > {b} { {a} } else { {b} }", "return {b}"]
        }
        Kind::Float => &["{a}", "{a} + {b}", "{a}.max({b})", "if {a} > {b} { {a} } else { {b} }"],
        Kind::Bool => &["{a} && {b}", "{a} ^ {b}", "match {a} { true => {b}, false => {a} }"],
        Kind::Struct => &[
            "{a}",
            "{T} { first: {a}.first, ..{b} }",
            "{a} * {b}",
            "{a}.max({b})",
            "if {a} == {b} { {a} } else { {b} }",
        ],
        Kind::Array => &["{a}", "[{a}[0], {b}[1], {a}[2]]", "[0; 3]", "if {a} == {b} { {a} } else { {b} }"],
        Kind::Enum => &["{a}", "if {a} == {b} { {a} } else { {b} }", "match {a} { {T}::Zero => {b}, x => x }"],
    };
    let result = fill(one(random, results), "v");
    match random.below(4) {
        0 => {
            // A function: its name is the operator's.
            let name = one(random, &["first_of", "input", "state", "std", "max", "combine", a]);
            text += &format!("#[scan_op]\nfn {name}({a}: {ty}, {b}: {ty}) -> {ty} {{\n{body}    {result}\n}}\n");
            text + &format!("const {OPERATOR}: {name} = {name};\n")
        }
        1 => {
            text += &format!(
                "pub struct Own {{ {a}: u32 }}\n#[scan_op]\nimpl ScanOp for Own {{\n    type Element = {ty};\n    \
                 fn combine(&self, {a}: {ty}, {b}: {ty}) -> {ty} {{\n    let own = self.{a};\n{body}    {result}\n    }}\n}}\n"
            );
            text + &format!("const {OPERATOR}: Own = Own {{ {a}: 3 }};\n")
        }
        _ => {
            text += &format!(
                "pub struct Own;\n#[scan_op]\nimpl ScanOp for Own {{\n    type Element = {ty};\n    \
                 fn combine({a}: {ty}, {b}: {ty}) -> {ty} {{\n{body}    {result}\n    }}\n}}\n"
            );
            text + &format!("const {OPERATOR}: Own = Own;\n")
        }
    }
}

/// The type that a user declares, with traits that are derived or written by hand.
fn declaration(random: &mut Random, kind: Kind, name: &str) -> String {
    let derives = one(random, &["", ", PartialEq", ", PartialEq, PartialOrd", ", PartialEq, Default"]);
    let mut text = match kind {
        Kind::Struct => format!(
            "#[scan_element]\n#[derive(Clone, Copy, Debug{derives})]\npub struct {name} {{\n    first: u32,\n    second: f32,\n}}\n"
        ),
        Kind::Enum => format!(
            "#[scan_element]\n#[derive(Clone, Copy, Debug{})]\n#[repr({})]\npub enum {name} {{\n    Zero = 0,\n    One = {},\n    r#Type,\n}}\n",
            derives.replace(", Default", ""),
            one(random, &["u8", "i8", "u32", "i64"]),
            one(random, &["1", "5", "0x7e"]),
        ),
        _ => return String::new(),
    };
    let by_hand = [
        "impl std::ops::Mul for {N} { type Output = {N}; fn mul(self, _: {N}) -> {N} { self } }\n",
        "impl std::ops::Add for {N} { type Output = {N}; fn add(self, _: {N}) -> {N} { self } }\n",
        "impl std::ops::Neg for {N} { type Output = {N}; fn neg(self) -> {N} { self } }\n",
        "impl std::ops::AddAssign for {N} { fn add_assign(&mut self, _: {N}) {} }\n",
        "impl {N} { fn max(self, _: {N}) -> {N} { self } fn abs(self) -> {N} { self } fn pow(self, _: u32) -> {N} { self } }\n",
        "impl {N} { #[scan_fn] fn len(self) -> u32 { 3 } fn new(_: u32) -> {N} { CONSTANT } }\n",
        "trait Twice { fn twice(self) -> Self; }\nimpl Twice for {N} { fn twice(self) -> {N} { self } }\n",
    ];
    for item in by_hand {
        if random.one_in(2) {
            text += &item.replace("{N}", name);
        }
    }
    if !derives.contains("PartialEq") && random.one_in(2) {
        text += &"impl PartialEq for {N} { fn eq(&self, _: &{N}) -> bool { true } }\n".replace("{N}", name);
    }
    text
}
