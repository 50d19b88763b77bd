//! Which parts of the Rust-semantics prelude a text needs, and these parts.

use crate::element::{ElementKind, ElementType, Primitive};
use crate::error::RenderError;
use crate::operator_text::Target;
use crate::templates::Templates;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use tera::Context;

/// What the bodies turned out to need.
#[derive(Default)]
pub(crate) struct Needs {
    /// Methods and operators, as the macro and the literals name them.
    pub(crate) uses: BTreeSet<&'static str>,
    /// Primitives and arrays, by name.
    pub(crate) parts: BTreeMap<String, ElementType>,
}

#[derive(Serialize)]
struct Sign {
    name: &'static str,
    sign: &'static str,
    /// Whether floats have it as well.
    floats: bool,
}

const fn sign(name: &'static str, sign: &'static str, floats: bool) -> Sign {
    Sign { name, sign, floats }
}

const ARITHMETIC: &[Sign] = &[
    sign("add", "+", true),
    sign("sub", "-", true),
    sign("mul", "*", true),
    sign("bitand", "&", false),
    sign("bitor", "|", false),
    sign("bitxor", "^", false),
];
const DIVISIONS: &[Sign] = &[sign("div", "/", true), sign("rem", "%", true)];

/// A division that wraps where the smallest number is divided by -1: what it is elsewhere, and what it is there.
#[derive(Serialize)]
struct WrappingDivision {
    name: &'static str,
    elsewhere: &'static str,
    by_minus_one: &'static str,
}

const fn wrapping(name: &'static str, elsewhere: &'static str, by_minus_one: &'static str) -> WrappingDivision {
    WrappingDivision { name, elsewhere, by_minus_one }
}

const WRAPPING_DIVISIONS: &[WrappingDivision] = &[
    wrapping("wrapping_div", "*this / b", "Bits(0) - Bits(value)"),
    wrapping("wrapping_rem", "*this % b", "0"),
    wrapping("wrapping_div_euclid", "div_euclid(b)", "Bits(0) - Bits(value)"),
    wrapping("wrapping_rem_euclid", "rem_euclid(b)", "0"),
];
const FLOAT_ARITHMETIC: &[Sign] =
    &[sign("add", "+", true), sign("sub", "-", true), sign("mul", "*", true), sign("div", "/", true)];
const COMPARISONS: &[Sign] = &[
    sign("eq", "==", true),
    sign("lt", "<", true),
    sign("le", "<=", true),
    sign("gt", ">", true),
    sign("ge", ">=", true),
];
const ASSIGNMENTS: &[Sign] = &[
    sign("add_assign", "+", true),
    sign("sub_assign", "-", true),
    sign("mul_assign", "*", true),
    sign("div_assign", "/", true),
    sign("rem_assign", "%", true),
    sign("bitand_assign", "&", false),
    sign("bitor_assign", "|", false),
    sign("bitxor_assign", "^", false),
];
const SHIFT_ASSIGNMENTS: &[Sign] = &[sign("shl_assign", "<<", false), sign("shr_assign", ">>", false)];

/// A function of C's mathematics: Rust's name, C's name, its parameters.
#[derive(Clone, Copy, Serialize)]
struct MachineFunction {
    name: &'static str,
    cuda: &'static str,
    parameters: &'static [&'static str],
}

const fn machine(name: &'static str, cuda: &'static str, parameters: &'static [&'static str]) -> MachineFunction {
    MachineFunction { name, cuda, parameters }
}

/// The functions that each float has. All but `rem` are methods, the first parameter the receiver.
const MACHINE_FUNCTIONS: &[MachineFunction] = &[
    machine("abs", "fabs", &["x"]),
    machine("acos", "acos", &["x"]),
    machine("asin", "asin", &["x"]),
    machine("atan", "atan", &["x"]),
    machine("atan2", "atan2", &["y", "x"]),
    machine("cbrt", "cbrt", &["x"]),
    machine("ceil", "ceil", &["x"]),
    machine("copysign", "copysign", &["x", "sign"]),
    machine("cos", "cos", &["x"]),
    machine("cosh", "cosh", &["x"]),
    machine("exp", "exp", &["x"]),
    machine("exp2", "exp2", &["x"]),
    machine("exp_m1", "expm1", &["x"]),
    machine("floor", "floor", &["x"]),
    machine("hypot", "hypot", &["x", "y"]),
    machine("ln", "log", &["x"]),
    machine("ln_1p", "log1p", &["x"]),
    machine("log10", "log10", &["x"]),
    machine("log2", "log2", &["x"]),
    machine("max", "fmax", &["x", "y"]),
    machine("min", "fmin", &["x", "y"]),
    machine("mul_add", "fma", &["x", "y", "z"]),
    machine("powf", "pow", &["x", "y"]),
    machine("rem", "fmod", &["x", "y"]),
    machine("round", "round", &["x"]),
    machine("round_ties_even", "rint", &["x"]),
    machine("sin", "sin", &["x"]),
    machine("sinh", "sinh", &["x"]),
    machine("sqrt", "sqrt", &["x"]),
    machine("tan", "tan", &["x"]),
    machine("tanh", "tanh", &["x"]),
    machine("trunc", "trunc", &["x"]),
];

/// Functions of C that the compiler knows without being told.
pub(crate) fn c_functions() -> impl Iterator<Item = String> {
    // Those of the tables below come with their names for `float`.
    let others = [
        "abs",
        "labs",
        "llabs",
        "min",
        "max",
        "umin",
        "umax",
        "llmin",
        "llmax",
        "ullmin",
        "ullmax",
        "printf",
        "malloc",
        "free",
        "memcpy",
        "memset",
        "norm",
        "clz",
        "clzll",
        "popc",
        "popcll",
        "brev",
        "brevll",
        "sad",
        "usad",
        "mulhi",
        "umulhi",
        "mul64hi",
        "umul64hi",
        "mul24",
        "umul24",
        "saturate",
        "dadd",
        "dmul",
        "dsub",
        "int_as_float",
        "float_as_int",
        "float2int",
        "float2uint",
        "int2float",
        "uint2float",
        "float2ll",
        "float2ull",
        "ll2float",
        "ull2float",
        "double2float",
        "double2int",
        "double2uint",
        "double2ll",
        "double2ull",
        "int2double",
        "uint2double",
        "ll2double",
        "ull2double",
        "float2double",
    ];
    // What is not of the operator language.
    let more = [
        "acosh",
        "asinh",
        "atanh",
        "cospi",
        "cyl_bessel_i0",
        "cyl_bessel_i1",
        "erf",
        "erfc",
        "erfcinv",
        "erfcx",
        "erfinv",
        "exp10",
        "fdim",
        "fdivide",
        "frexp",
        "ilogb",
        "isfinite",
        "isinf",
        "isnan",
        "j0",
        "j1",
        "jn",
        "ldexp",
        "lgamma",
        "llrint",
        "llround",
        "logb",
        "lrint",
        "lround",
        "modf",
        "nan",
        "nearbyint",
        "nextafter",
        "norm3d",
        "norm4d",
        "normcdf",
        "normcdfinv",
        "rcbrt",
        "remainder",
        "remquo",
        "rhypot",
        "rnorm",
        "rnorm3d",
        "rnorm4d",
        "rsqrt",
        "scalbln",
        "scalbn",
        "signbit",
        "sincos",
        "sincospi",
        "sinpi",
        "tgamma",
        "y0",
        "y1",
        "yn",
    ];
    let of_floats = MACHINE_FUNCTIONS
        .iter()
        .map(|function| function.cuda)
        .chain(more)
        .flat_map(|name| [name.to_owned(), format!("{name}f")]);
    others.into_iter().map(str::to_owned).chain(of_floats)
}

/// An integer type, for its template.
#[derive(Serialize)]
struct Integer {
    name: &'static str,
    /// The C++ type of the value.
    repr: &'static str,
    /// The unsigned type of the same width, and the name of its wrapper.
    unsigned: &'static str,
    unsigned_name: &'static str,
    /// The unsigned type in which C++ computes.
    bits: &'static str,
    width: usize,
    signed: bool,
    constructors: Vec<&'static str>,
}

/// A float type, for its template.
#[derive(Serialize)]
struct Float {
    name: &'static str,
    repr: &'static str,
    bits: &'static str,
    bits_name: &'static str,
    width: usize,
    smallest_normal: &'static str,
    constructors: Vec<&'static str>,
}

/// A float of 16 bits, for its template.
#[derive(Serialize)]
struct Half {
    name: &'static str,
    /// The bits of infinity and of one.
    infinity: &'static str,
    one: &'static str,
}

fn integer(primitive: Primitive, uses: &BTreeSet<&'static str>) -> Option<Integer> {
    use Primitive::*;
    let (repr, unsigned, unsigned_name) = match primitive {
        I8 => ("signed char", "unsigned char", "u8"),
        I16 => ("short", "unsigned short", "u16"),
        I32 => ("int", "unsigned", "u32"),
        I64 => ("long long", "unsigned long long", "u64"),
        Isize => ("long long", "unsigned long long", "usize"),
        I128 => ("__int128", "unsigned __int128", "u128"),
        U8 => ("unsigned char", "unsigned char", "u8"),
        U16 => ("unsigned short", "unsigned short", "u16"),
        U32 => ("unsigned", "unsigned", "u32"),
        U64 => ("unsigned long long", "unsigned long long", "u64"),
        Usize => ("unsigned long long", "unsigned long long", "usize"),
        U128 => ("unsigned __int128", "unsigned __int128", "u128"),
        Bool | F16 | Bf16 | F32 | F64 => return None,
    };
    let mut constructors = vec![repr];
    let literals = [
        ("literal", "int"),
        ("literal_64", "long long"),
        ("literal_u64", "unsigned long long"),
        ("literal_128", "__int128"),
    ];
    for (used, literal) in literals {
        if uses.contains(used) && !constructors.contains(&literal) {
            constructors.push(literal);
        }
    }
    Some(Integer {
        name: primitive.name(),
        repr,
        unsigned,
        unsigned_name,
        bits: match primitive.size() {
            16 => "unsigned __int128",
            8 => "unsigned long long",
            _ => "unsigned",
        },
        width: 8 * primitive.size(),
        signed: repr != unsigned,
        constructors,
    })
}

fn float(primitive: Primitive, uses: &BTreeSet<&'static str>) -> Option<Float> {
    let literals = uses.contains("float_literal");
    match primitive {
        Primitive::F32 => Some(Float {
            name: "f32",
            repr: "float",
            bits: "unsigned",
            bits_name: "u32",
            width: 32,
            smallest_normal: "0x1p-126f",
            constructors: if literals { vec!["float", "double"] } else { vec!["float"] },
        }),
        Primitive::F64 => Some(Float {
            name: "f64",
            repr: "double",
            bits: "unsigned long long",
            bits_name: "u64",
            width: 64,
            smallest_normal: "0x1p-1022",
            constructors: vec!["double"],
        }),
        _ => None,
    }
}

fn half(primitive: Primitive) -> Option<Half> {
    match primitive {
        Primitive::F16 => Some(Half { name: "f16", infinity: "0x7c00", one: "0x3c00" }),
        Primitive::Bf16 => Some(Half { name: "bf16", infinity: "0x7f80", one: "0x3f80" }),
        _ => None,
    }
}

/// What a part of the prelude needs of the others.
const FOLLOW: &[(&str, &[&str])] = &[
    ("add_assign", &["add"]),
    ("sub_assign", &["sub"]),
    ("mul_assign", &["mul"]),
    ("div_assign", &["div"]),
    ("rem_assign", &["rem"]),
    ("bitand_assign", &["bitand"]),
    ("bitor_assign", &["bitor"]),
    ("bitxor_assign", &["bitxor"]),
    ("shl_assign", &["shl"]),
    ("shr_assign", &["shr"]),
    ("div", &["panic"]),
    ("rem", &["panic"]),
    ("clamp", &["panic"]),
    ("index", &["panic"]),
    ("anywhere", &["index", "panic"]),
    ("div_euclid", &["panic"]),
    ("rem_euclid", &["panic"]),
    ("wrapping_div", &["div", "panic"]),
    ("wrapping_rem", &["rem", "panic"]),
    ("wrapping_div_euclid", &["div_euclid", "panic"]),
    ("wrapping_rem_euclid", &["rem_euclid", "panic"]),
    ("saturating_div", &["div", "panic"]),
    ("saturating_pow", &["saturating_mul"]),
    ("count_zeros", &["count_ones"]),
    ("leading_ones", &["leading_zeros"]),
    ("trailing_ones", &["leading_zeros"]),
    ("trailing_zeros", &["leading_zeros"]),
];

/// Functions of the machine that methods of floats are made of.
const FLOAT_PARTS: &[(&str, &[&str])] = &[
    ("signum", &["copysign"]),
    ("fract", &["trunc"]),
    ("rem_euclid", &["rem", "abs"]),
    ("div_euclid", &["rem", "trunc"]),
];

/// Parts that work on the bits or the limits of an integer.
const NEEDS_LIMITS: &[&str] = &[
    "div",
    "rem",
    "shl",
    "shr",
    "count_ones",
    "count_zeros",
    "leading_zeros",
    "rotate_left",
    "rotate_right",
    "swap_bytes",
    "reverse_bits",
    "is_power_of_two",
    "saturating_add",
    "saturating_sub",
    "saturating_mul",
    "saturating_neg",
    "saturating_abs",
    "div_euclid",
    "rem_euclid",
];

/// Parts whose result or argument is a `u32`.
const NEEDS_U32: &[&str] =
    &["pow", "saturating_pow", "count_ones", "count_zeros", "leading_zeros", "rotate_left", "rotate_right"];

const PARTS: &[(&str, &str)] = &[
    ("machine", include_str!("../templates/prelude/machine.cu.tera")),
    ("host", include_str!("../templates/prelude/host.cu.tera")),
    ("helpers", include_str!("../templates/prelude/helpers.cu.tera")),
    ("integer", include_str!("../templates/prelude/integer.cu.tera")),
    ("float", include_str!("../templates/prelude/float.cu.tera")),
    ("half", include_str!("../templates/prelude/half.cu.tera")),
    ("generic", include_str!("../templates/prelude/generic.cu.tera")),
];

static TEMPLATES: LazyLock<Templates> = LazyLock::new(|| Templates::parse(PARTS));

/// The prelude of a text that needs this much.
pub(crate) fn prelude(needs: Needs, target: Target) -> Result<String, RenderError> {
    let Needs { mut uses, parts } = needs;
    let has = |kind: fn(&ElementKind) -> bool| parts.values().any(|part| kind(&part.kind));
    let tables = has(|kind| matches!(kind, ElementKind::Table { .. }));
    let enums = has(|kind| matches!(kind, ElementKind::Enum { .. }));
    let arrays = tables || has(|kind| matches!(kind, ElementKind::Array { .. })) || uses.contains("index");
    if arrays {
        uses.insert("index");
    }
    follow(&mut uses);
    let primitives = primitives(&parts, &uses, arrays);
    // Unsigned types first, `u32` before all: the others have methods that return them.
    let unsigned = primitives.iter().filter(|primitive| primitive.name().starts_with('u'));
    let signed = primitives.iter().filter(|primitive| primitive.name().starts_with('i'));
    let mut integers: Vec<Integer> =
        unsigned.chain(signed).filter_map(|primitive| integer(*primitive, &uses)).collect();
    integers.sort_by_key(|integer| integer.name != "u32");
    let floats: Vec<Float> = primitives.iter().filter_map(|primitive| float(*primitive, &uses)).collect();
    let halves: Vec<Half> = primitives.iter().filter_map(|primitive| half(*primitive)).collect();
    // What C++ computes floats in. Halves are computed in `float`.
    let reprs: BTreeSet<&'static str> =
        floats.iter().map(|float| float.repr).chain(halves.iter().map(|_| "float")).collect();
    let machine_functions = machine_functions(&uses);
    let float_methods: Vec<MachineFunction> = MACHINE_FUNCTIONS
        .iter()
        .filter(|function| function.name != "rem" && uses.contains(function.name))
        .map(|function| MachineFunction { parameters: &function.parameters[1..], ..*function })
        .collect();
    let needs_limits =
        NEEDS_LIMITS.iter().any(|used| uses.contains(used)) || (uses.contains("cast") && !floats.is_empty());

    let mut context = Context::new();
    context.insert("uses", &uses);
    context.insert("integers", &integers);
    context.insert("floats", &floats);
    context.insert("halves", &halves);
    context.insert("reprs", &reprs);
    context.insert("wide", &integers.iter().any(|integer| integer.width == 128));
    context.insert("needs_limits", &needs_limits);
    context.insert("tables", &tables);
    context.insert("enums", &enums);
    context.insert("needs_bits", &uses.contains("bits"));
    context.insert("needs_raw", &["cast", "shl", "shr"].iter().any(|used| uses.contains(used)));
    context.insert("arithmetic", ARITHMETIC);
    context.insert("divisions", DIVISIONS);
    context.insert("float_arithmetic", FLOAT_ARITHMETIC);
    context.insert("comparisons", COMPARISONS);
    context.insert("assignments", ASSIGNMENTS);
    context.insert("shift_assignments", SHIFT_ASSIGNMENTS);
    context.insert("euclid", &["rem_euclid", "div_euclid"]);
    context.insert("wrapping_divisions", WRAPPING_DIVISIONS);
    context.insert("machine_functions", &machine_functions);
    context.insert("float_methods", &float_methods);

    let tera = &*TEMPLATES;
    let machine = match target {
        Target::Cuda => "machine",
        Target::Host => "host",
    };
    let mut rendered = vec![tera.render(machine, &context)?, tera.render("helpers", &context)?];
    for integer in &integers {
        context.insert("integer", integer);
        rendered.push(tera.render("integer", &context)?);
    }
    for float in &floats {
        context.insert("float", float);
        rendered.push(tera.render("float", &context)?);
    }
    for half in &halves {
        context.insert("half", half);
        rendered.push(tera.render("half", &context)?);
    }
    rendered.push(tera.render("generic", &context)?);
    let rendered: Vec<&str> = rendered.iter().map(|part| part.trim()).filter(|part| !part.is_empty()).collect();
    Ok(rendered.join("\n\n"))
}

/// Whether one of these parts may panic.
pub(crate) fn may_panic(uses: impl Iterator<Item = &'static str>) -> bool {
    let mut uses = uses.collect();
    follow(&mut uses);
    uses.contains("panic")
}

fn follow(uses: &mut BTreeSet<&'static str>) {
    // No part that follows has others that follow it but `panic`, so that once is enough.
    for (used, others) in FOLLOW {
        if uses.contains(used) {
            uses.extend(others.iter().copied());
        }
    }
    if uses.contains("div") || uses.contains("rem") {
        uses.insert("panic");
    }
}

/// The primitives of the text, and those that the prelude's own methods mention.
fn primitives(
    parts: &BTreeMap<String, ElementType>,
    uses: &BTreeSet<&'static str>,
    arrays: bool,
) -> BTreeSet<Primitive> {
    let mut primitives: BTreeSet<Primitive> = parts
        .values()
        .filter_map(|part| match part.kind {
            ElementKind::Primitive(primitive) => Some(primitive),
            _ => None,
        })
        .collect();
    let has_half = primitives.contains(&Primitive::F16) || primitives.contains(&Primitive::Bf16);
    if has_half && (uses.contains("to_f32") || uses.contains("from_f32")) {
        primitives.insert(Primitive::F32);
    }
    if has_half && uses.contains("to_f64") {
        primitives.insert(Primitive::F64);
    }
    // What follows is asked of these floats, too.
    let present = primitives.clone();
    let has_float = |primitive| present.contains(&primitive);
    let has_integer = present.iter().any(|primitive| primitive.name().starts_with(['i', 'u']));
    if has_integer && NEEDS_U32.iter().any(|used| uses.contains(used)) {
        primitives.insert(Primitive::U32);
    }
    if uses.contains("abs_diff") || uses.contains("unsigned_abs") {
        use Primitive::*;
        let pairs = [(I8, U8), (I16, U16), (I32, U32), (I64, U64), (I128, U128), (Isize, Usize)];
        primitives.extend(pairs.iter().filter(|(signed, _)| present.contains(signed)).map(|(_, unsigned)| *unsigned));
    }
    if uses.contains("to_bits") || uses.contains("from_bits") {
        if has_float(Primitive::F32) {
            primitives.insert(Primitive::U32);
        }
        if has_float(Primitive::F64) {
            primitives.insert(Primitive::U64);
        }
        if has_half {
            primitives.insert(Primitive::U16);
        }
    }
    if uses.contains("powi") && (has_half || has_float(Primitive::F32) || has_float(Primitive::F64)) {
        primitives.insert(Primitive::I32);
    }
    if arrays {
        primitives.insert(Primitive::Usize);
    }
    primitives
}

fn machine_functions(uses: &BTreeSet<&'static str>) -> Vec<MachineFunction> {
    let mut names = uses.clone();
    for (method, parts) in FLOAT_PARTS {
        if uses.contains(method) {
            names.extend(parts.iter().copied());
        }
    }
    MACHINE_FUNCTIONS.iter().filter(|function| names.contains(function.name)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An `f64` that only `f16::to_f64` brings in has a `from_bits` of its own, which takes a `u64`.
    #[test]
    fn floats_that_halves_become_have_their_bits() {
        let parts = BTreeMap::from([("f16".to_owned(), ElementType::primitive(Primitive::F16))]);
        let found = primitives(&parts, &BTreeSet::from(["to_f64", "from_bits"]), false);
        assert_eq!(found, BTreeSet::from([Primitive::U16, Primitive::U64, Primitive::F16, Primitive::F64]));
    }

    /// A user's function or type of the same name would be another one of C++, or none.
    #[test]
    fn what_the_prelude_declares_is_kept_for_it() {
        let mut found = BTreeSet::new();
        for line in PARTS.iter().flat_map(|(_, text)| text.lines()) {
            let before = line.split('(').next().unwrap_or_default();
            let name = match line.strip_prefix("struct ") {
                Some(rest) => rest.split([' ', '{']).find(|word| !word.starts_with("alignas")).unwrap_or_default(),
                None if line.starts_with("__device__") => before.rsplit([' ', '&', '*']).next().unwrap_or_default(),
                None => continue,
            };
            if name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_') && !name.is_empty() {
                found.insert(name);
            }
        }
        assert!(found.len() > 10 && found.contains("chosen") && found.contains("Array"), "{found:?}");
        let open: Vec<_> = found.into_iter().filter(|name| !crate::names::is_kept(name)).collect();
        assert!(open.is_empty(), "{open:?}");
    }
}
