//! Renders an operator's pieces as CUDA text: the prelude that it needs, its elements, and a struct with its functions.

mod lines;
mod writer;

use std::sync::LazyLock;

use serde::Serialize;
use tera::Context;

use crate::{
    element::{ElementKind, ElementType, Primitive},
    error::RenderError,
    names::{camel_case, snake_case, variable},
    operator::{CarrySource, FunctionSource, OpSource},
    prelude::{c_functions, prelude},
    target::Target,
    templates::{KERNEL_NAMES, Templates},
    weight::{INLINED, Places, Weights},
};
pub(crate) use writer::KeptConstant;
use writer::{FieldText, FunctionText, TableText, Writer};

/// An operator as CUDA text, for kernels to be written around.
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct OperatorText {
    /// Prelude, elements and operator. The marker line `#line here` follows each function whose lines are the user's.
    pub text: String,
    /// The lines of the text before its elements and functions: those of the prelude.
    pub(crate) prelude_lines: usize,
    /// The name of the operator's struct.
    pub operator: String,
    /// The prefix of the names of its kernels.
    pub prefix: String,
    /// The C++ name of the input type.
    pub input: String,
    /// The C++ name of the state type.
    pub state: String,
    /// The C++ name of the output type.
    pub output: String,
    /// The fields of what is read, and of what is written, where those are structs: the name and the type of each.
    pub input_fields: Vec<(String, String)>,
    pub output_fields: Vec<(String, String)>,
    /// The types of the items of those fields of what is written that are arrays.
    pub output_items: Vec<String>,
    /// What initial values and totals are: what each input moves on, or else the state.
    pub carry_type: String,
    /// The carry before the first input, where the operator tells it.
    pub start: String,
    /// Whether runs are folded from their ends, by the struct's function `prepend`.
    pub folds_backwards: bool,
    /// Whether the struct has a function `identity`.
    pub has_identity: bool,
    /// Whether all elements share divisors: then the struct has a function `keep_reciprocals`.
    pub shares_divisors: bool,
    /// The constant arrays that are kept in shared memory.
    pub(crate) kept_constants: Vec<KeptConstant>,
}

#[derive(Serialize)]
struct Operator {
    name: String,
    size: usize,
    fields: Vec<FieldText>,
    tables: Vec<TableText>,
    helpers: Vec<FunctionText>,
    functions: Vec<FunctionText>,
    /// Those that are made of the operator's parameters only.
    divisors: Vec<String>,
    state: String,
    identity: Option<String>,
}

#[derive(Serialize)]
struct Element<'a> {
    name: &'a str,
    size: usize,
    align: usize,
    /// Whether it needs `alignas`, because C++ would align it less.
    aligned: bool,
    fields: Vec<FieldText>,
    /// Whether two of them are compared field by field.
    compares: bool,
    /// Of an enum: the type of its number, and its variants.
    repr: &'static str,
    variants: Vec<VariantText>,
}

#[derive(Serialize)]
struct VariantText {
    name: String,
    number: String,
}

const ELEMENT: &str = include_str!("../../templates/element.cu.tera");
const OPERATOR: &str = include_str!("../../templates/operator.cu.tera");

static TEMPLATES: LazyLock<Templates> =
    LazyLock::new(|| Templates::parse(&[("element", ELEMENT), ("operator", OPERATOR)]));

/// Renders an operator as CUDA text, with one place per function.
#[doc(hidden)]
pub fn operator_text(op: &OpSource, target: Target) -> Result<OperatorText, RenderError> {
    operator_text_as(op, target, Wording::of(Places::all(1), INLINED))
}

/// How sums, differences and products of `f16` are computed. The results are the same: what is exact in `float`, or
/// rounded there to more than twice the digits, is rounded once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Halves {
    InFloat,
    /// By instructions for two of them at once, where neighbours are at hand.
    Native,
}

/// What the text of an operator depends on, in addition to the operator.
#[derive(Clone, Copy)]
pub(crate) struct Wording {
    /// The places at which each function is used.
    pub(crate) places: Places,
    /// The most instructions of a function at all of them.
    pub(crate) inlined: u32,
    pub(crate) halves: Halves,
    /// Whether constant arrays are kept in shared memory, where the kernel copies them.
    pub(crate) keeps_constants: bool,
}

impl Wording {
    pub(crate) fn of(places: Places, inlined: u32) -> Self {
        Wording { places, inlined, halves: Halves::InFloat, keeps_constants: false }
    }
}

/// The same, by `wording`.
pub(crate) fn operator_text_as(op: &OpSource, target: Target, wording: Wording) -> Result<OperatorText, RenderError> {
    if !op.functions.iter().any(|function| function.name == "combine") {
        return Err(RenderError::NoText { operator: op.name.clone() });
    }
    let mut writer = Writer { keeps_constants: wording.keeps_constants, ..Writer::default() };
    KERNEL_NAMES.iter().for_each(|name| writer.names.avoid(name.clone()));
    for function in op.functions.iter().chain(&op.helpers) {
        writer.reserve(&function.body);
        function.parameters.iter().for_each(|(name, _)| writer.names.avoid(variable(name)));
    }
    // A struct of C++ has no field of its own name.
    for ty in op.elements().chain(&op.parameters) {
        writer.reserve_fields(ty);
    }
    if !op.helpers.is_empty() {
        // A function of C with the same name might fit a call better, literals among its arguments.
        c_functions().for_each(|name| writer.names.avoid(name));
    }
    writer.helpers = op.helpers.iter().map(|helper| writer.names.fresh(&helper.name)).collect();
    let (input, state, output) = (writer.ty(&op.input), writer.ty(&op.state), writer.ty(&op.output));
    let carry = op.carry.as_ref().map_or_else(|| state.clone(), |carry| writer.ty(&carry.ty));
    let start = match &op.carry {
        Some(CarrySource { ty, start: Some(bytes) }) => writer.constant(ty, bytes)?,
        _ => String::new(),
    };
    let weights = Weights::of(op, wording.places, wording.inlined);
    let mut helpers = Vec::new();
    for ((index, helper), weight) in op.helpers.iter().enumerate().zip(weights.helpers) {
        let name = writer.helpers.get(index).cloned().unwrap_or_default();
        let mut function = writer.function(helper, weight)?;
        function.name = name;
        helpers.push(function);
    }
    let is_used = |function: &FunctionSource| function.name != "prepend" || op.folds_backwards();
    let functions = op.functions.iter().zip(weights.functions).filter(|(function, _)| is_used(function));
    let functions = functions.map(|(function, weight)| writer.function(function, weight));
    let functions = functions.collect::<Result<Vec<_>, _>>()?;
    let identity = match &op.identity {
        Some(bytes) => Some(writer.constant(&op.state, bytes)?),
        None => None,
    };
    let fields = match &op.parameters {
        Some(parameters) => writer.fields(parameters),
        None => Vec::new(),
    };
    let operator = Operator {
        name: writer.names.fresh(&camel_case(&op.name)),
        size: op.parameters.as_ref().map_or(1, |parameters| parameters.size),
        fields,
        tables: std::mem::take(&mut writer.tables).into_iter().map(|(table, _, _)| table).collect(),
        helpers,
        divisors: std::mem::take(&mut writer.divisors).into_iter().collect(),
        functions,
        state: state.clone(),
        identity,
    };

    let tera = &*TEMPLATES;
    let mut context = Context::new();
    let mut elements = String::new();
    let eq = writer.needs.uses.contains("eq");
    for (ty, name) in writer.names.structs().to_vec() {
        let (repr, variants) = enumeration(&ty);
        let element = Element {
            name: &name,
            size: ty.size,
            align: ty.align,
            aligned: natural_align(&ty) < ty.align,
            fields: writer.fields(&ty),
            compares: eq && compares(&ty),
            repr,
            variants,
        };
        context.insert("element", &element);
        elements.push('\n');
        elements.push_str(tera.render("element", &context)?.trim());
        elements.push('\n');
    }
    context.insert("operator", &operator);
    let operator_text = tera.render("operator", &context)?;

    let [input_fields, output_fields] = [&op.input, &op.output]
        .map(|ty| writer.fields(ty).into_iter().map(|field| (field.name, field.ty)).collect::<Vec<_>>());
    let output_items = match &op.output.kind {
        ElementKind::Struct(fields) => fields.iter().map(|field| writer.item(&field.ty)).collect(),
        _ => Vec::new(),
    };
    let mut needs = writer.needs;
    needs.parts.extend(writer.names.parts());
    if wording.halves == Halves::Native {
        needs.uses.insert("native_halves");
    }
    let prelude = prelude(needs, target)?;
    let mut text = String::new();
    let mut push = |part: &str| {
        if !part.is_empty() {
            text.push_str(part);
            text.push_str("\n\n");
        }
        text.lines().count()
    };
    let prelude_lines = push(prelude.trim_end());
    push(elements.trim());
    push(operator_text.trim_end());
    text.truncate(text.trim_end().len());
    text.push('\n');
    Ok(OperatorText {
        text,
        prelude_lines,
        prefix: snake_case(&operator.name),
        operator: operator.name,
        input,
        state,
        output,
        input_fields,
        output_fields,
        output_items,
        carry_type: carry,
        start,
        folds_backwards: op.folds_backwards(),
        has_identity: op.identity.is_some(),
        shares_divisors: !operator.divisors.is_empty(),
        kept_constants: operator.tables.iter().filter_map(|table| table.kept.clone()).collect(),
    })
}

/// Whether `==` of two such values is that of their parts, all the way down.
fn compares(ty: &ElementType) -> bool {
    ty.compares
        && match &ty.kind {
            ElementKind::Struct(fields) => fields.iter().all(|field| compares(&field.ty)),
            ElementKind::Array { item, .. } => compares(item),
            ElementKind::Primitive(_) | ElementKind::Enum { .. } => true,
            ElementKind::Table { .. } => false,
        }
}

/// The type of an enum's number, and its variants; nothing of another type.
fn enumeration(ty: &ElementType) -> (&'static str, Vec<VariantText>) {
    let ElementKind::Enum { repr, variants } = &ty.kind else { return ("", Vec::new()) };
    let (repr, tail) = match repr {
        Primitive::U8 => ("unsigned char", ""),
        Primitive::I8 => ("signed char", ""),
        Primitive::U16 => ("unsigned short", ""),
        Primitive::I16 => ("short", ""),
        Primitive::U32 => ("unsigned", "u"),
        Primitive::I32 => ("int", ""),
        Primitive::U64 | Primitive::Usize => ("unsigned long long", "ull"),
        _ => ("long long", "ll"),
    };
    let number = |number: i128| match number {
        // The smallest number has no literal of its own.
        _ if number == i128::from(i64::MIN) => "-9223372036854775807ll - 1".to_owned(),
        number => format!("{number}{tail}"),
    };
    let variant = |(name, value): &(String, i128)| VariantText { name: variable(name), number: number(*value) };
    (repr, variants.iter().map(variant).collect())
}

/// The alignment that C++ gives a struct of these fields.
fn natural_align(ty: &ElementType) -> usize {
    match &ty.kind {
        ElementKind::Struct(fields) => fields.iter().map(|field| field.ty.align).max().unwrap_or(1),
        _ => ty.align,
    }
}
