//! An operator's pieces to CUDA text: the prelude that it needs, its elements, and a struct with its functions.

use crate::element::{ElementKind, ElementType, Primitive};
use crate::error::RenderError;
use crate::literal::constant;
use crate::names::{TypeNames, camel_case, capital, collect, snake_case, variable};
use crate::operator::{FunctionSource, OpSource, Piece};
use crate::prelude::{Needs, c_functions, prelude};
use crate::templates::{KERNEL_NAMES, Templates};
use crate::weight::{WRITTEN_OUT, Weight, Weights};
use serde::Serialize;
use std::sync::LazyLock;
use tera::Context;

/// Which compiler reads the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// NVRTC.
    Cuda,
    /// A C++20 compiler of the host: the machine's own words are replaced, and `panic` is left to whoever runs it.
    Host,
}

/// An operator as CUDA text, for kernels to be written around.
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct OperatorText {
    /// Prelude, elements and operator. The marker line `#line here` follows each function whose lines are the user's.
    pub text: String,
    /// The name of the operator's struct.
    pub operator: String,
    /// What the names of its kernels begin with.
    pub prefix: String,
    /// C++ names of the element types.
    pub input: String,
    /// What is combined.
    pub state: String,
    /// What is written.
    pub output: String,
    /// Whether the struct has a function `lift`.
    pub lifts: bool,
    /// Whether the struct has a function `project`.
    pub projects: bool,
    /// Whether the struct has a function `identity`.
    pub has_identity: bool,
}

#[derive(Serialize)]
struct Operator {
    name: String,
    size: usize,
    fields: Vec<FieldText>,
    tables: Vec<TableText>,
    helpers: Vec<FunctionText>,
    functions: Vec<FunctionText>,
    state: String,
    identity: Option<String>,
}

#[derive(Serialize)]
struct FunctionText {
    /// `__forceinline__`, or `__noinline__` where it is too long to stand at every place.
    inlined: &'static str,
    name: String,
    returns: String,
    parameters: String,
    body: String,
}

#[derive(Serialize)]
struct Element<'a> {
    name: &'a str,
    size: usize,
    align: usize,
    /// Whether C++ would align it less on its own.
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

/// A constant that is written once.
#[derive(Serialize)]
struct TableText {
    name: String,
    ty: String,
    value: String,
}

#[derive(Serialize)]
struct FieldText {
    name: String,
    ty: String,
}

const ELEMENT: &str = include_str!("../templates/element.cu.tera");
const OPERATOR: &str = include_str!("../templates/operator.cu.tera");

static TEMPLATES: LazyLock<Templates> =
    LazyLock::new(|| Templates::parse(&[("element", ELEMENT), ("operator", OPERATOR)]));

/// Writes an operator as CUDA text, for one place each.
#[doc(hidden)]
pub fn operator_text(op: &OpSource, target: Target) -> Result<OperatorText, RenderError> {
    operator_text_at(op, target, 1, WRITTEN_OUT)
}

/// The same for kernels in which each of its functions stands at so many places, and is to have no more instructions there.
pub(crate) fn operator_text_at(
    op: &OpSource,
    target: Target,
    places: u64,
    written_out: u32,
) -> Result<OperatorText, RenderError> {
    if !op.functions.iter().any(|function| function.name == "combine") {
        return Err(RenderError::NoText { operator: op.name.clone() });
    }
    let mut writer = Writer::default();
    KERNEL_NAMES.iter().for_each(|name| writer.names.avoid((*name).to_owned()));
    for function in op.functions.iter().chain(&op.helpers) {
        writer.reserve(&function.body);
        function.parameters.iter().for_each(|(name, _)| writer.names.avoid(variable(name)));
    }
    // A struct of C++ has no field of its own name.
    for ty in [&op.input, &op.state, &op.output].into_iter().chain(&op.parameters) {
        writer.reserve_fields(ty);
    }
    if !op.helpers.is_empty() {
        // A function of C with the same name might fit a call better, literals among its arguments.
        c_functions().for_each(|name| writer.names.avoid(name));
    }
    writer.helpers = op.helpers.iter().map(|helper| writer.names.fresh(&helper.name)).collect();
    let (input, state, output) = (writer.ty(&op.input), writer.ty(&op.state), writer.ty(&op.output));
    let weights = Weights::of(op, places, written_out);
    let mut helpers = Vec::new();
    for ((index, helper), weight) in op.helpers.iter().enumerate().zip(weights.helpers) {
        let name = writer.helpers.get(index).cloned().unwrap_or_default();
        helpers.push(FunctionText { name, ..writer.function(helper, weight)? });
    }
    let functions =
        op.functions.iter().zip(weights.functions).map(|(function, weight)| writer.function(function, weight));
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

    let mut needs = writer.needs;
    needs.parts.extend(writer.names.parts());
    let prelude = prelude(needs, target)?;
    let mut text = String::new();
    for part in [prelude.trim_end(), elements.trim(), operator_text.trim_end()] {
        if !part.is_empty() {
            text.push_str(part);
            text.push_str("\n\n");
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    let has = |name: &str| op.functions.iter().any(|function| function.name == name);
    Ok(OperatorText {
        text,
        prefix: snake_case(&operator.name),
        operator: operator.name,
        input,
        state,
        output,
        lifts: has("lift"),
        projects: has("project"),
        has_identity: op.identity.is_some(),
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

/// The items of a table, broken into lines where they are many.
fn wrap(text: &str) -> String {
    let mut wrapped = String::new();
    // The name and type stand before them.
    let mut width = 50;
    for item in text.split_inclusive(", ") {
        if width + item.trim_end().len() > 110 {
            wrapped.truncate(wrapped.trim_end().len());
            wrapped.push_str("\n  ");
            width = 2;
        }
        wrapped.push_str(item);
        width += item.len();
    }
    wrapped
}

/// The alignment that C++ gives a struct of these fields.
fn natural_align(ty: &ElementType) -> usize {
    match &ty.kind {
        ElementKind::Struct(fields) => fields.iter().map(|field| field.ty.align).max().unwrap_or(1),
        _ => ty.align,
    }
}

#[derive(Default)]
struct Writer {
    names: TypeNames,
    needs: Needs,
    /// The names of the helpers.
    helpers: Vec<String>,
    /// The constants that are written once, each with its type and bytes.
    tables: Vec<(TableText, ElementType, Vec<u8>)>,
}

impl Writer {
    /// The name of a type that the text then needs.
    fn ty(&mut self, ty: &ElementType) -> String {
        collect(ty, &mut self.needs.parts);
        self.names.of(ty)
    }

    fn fields(&mut self, ty: &ElementType) -> Vec<FieldText> {
        let ElementKind::Struct(fields) = &ty.kind else { return Vec::new() };
        let field = |field: &crate::element::Field| FieldText { name: variable(&field.name), ty: self.ty(&field.ty) };
        fields.iter().map(field).collect()
    }

    fn constant(&mut self, ty: &ElementType, bytes: &[u8]) -> Result<String, RenderError> {
        self.ty(ty);
        let value = constant(ty, bytes, &mut self.names)?;
        if value.contains("::from_bits(") {
            self.needs.uses.insert("bits");
        }
        Ok(value)
    }

    /// The name of a constant that is written once, under its own name if that is free.
    fn table(&mut self, name: &str, ty: &ElementType, bytes: &[u8]) -> Result<String, RenderError> {
        let known = self.tables.iter().find(|(_, known, value)| known == ty && value == bytes);
        if let Some((table, _, _)) = known {
            return Ok(table.name.clone());
        }
        let (value, type_name) = (self.constant(ty, bytes)?, self.ty(ty));
        let value = wrap(value.strip_prefix(&type_name).unwrap_or(&value));
        if value.contains("::from_bits(") {
            self.needs.uses.insert("constant_bits");
        }
        let table = TableText { name: self.names.fresh(&capital(name)), ty: type_name, value };
        let name = table.name.clone();
        self.tables.push((table, ty.clone(), bytes.to_vec()));
        Ok(name)
    }

    /// Keeps the names of a type's fields away from the types.
    fn reserve_fields(&mut self, ty: &ElementType) {
        match &ty.kind {
            ElementKind::Struct(fields) => {
                for field in fields {
                    self.names.avoid(variable(&field.name));
                    self.reserve_fields(&field.ty);
                }
            }
            ElementKind::Array { item, .. } | ElementKind::Table { item } => self.reserve_fields(item),
            ElementKind::Primitive(_) | ElementKind::Enum { .. } => {}
        }
    }

    /// Keeps the names of locals and fields away from the types.
    fn reserve(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            match piece {
                Piece::Name(name) => self.names.avoid(variable(name)),
                Piece::Struct { ty, fields, base } => {
                    ty.iter().for_each(|ty| self.reserve_fields(ty));
                    fields.iter().for_each(|(_, value)| self.reserve(value));
                    base.iter().for_each(|base| self.reserve(base));
                }
                Piece::Type(ty) | Piece::Constant { ty, .. } => self.reserve_fields(ty),
                Piece::Text(_) | Piece::Helper(_) | Piece::Line(_) => {}
            }
        }
    }

    fn function(&mut self, function: &FunctionSource, weight: Weight) -> Result<FunctionText, RenderError> {
        self.needs.uses.extend(function.uses.iter().map(|(part, _)| *part));
        let parameters: Vec<String> =
            function.parameters.iter().map(|(name, ty)| format!("{} {}", self.ty(ty), variable(name))).collect();
        let returns = self.ty(&function.returns);
        let mut lines = Lines::default();
        self.pieces(&function.body, &mut lines)?;
        Ok(FunctionText {
            inlined: if weight.called { "__noinline__" } else { "__forceinline__" },
            name: function.name.clone(),
            returns,
            parameters: parameters.join(", "),
            body: lines.text(&function.file),
        })
    }

    fn pieces(&mut self, pieces: &[Piece], lines: &mut Lines) -> Result<(), RenderError> {
        for piece in pieces {
            match piece {
                Piece::Line(number) => lines.mark(*number),
                piece => {
                    let text = self.piece(piece, None)?;
                    lines.push(&text);
                }
            }
        }
        Ok(())
    }

    /// `within` is the type of the field in which the piece stands.
    fn piece(&mut self, piece: &Piece, within: Option<&ElementType>) -> Result<String, RenderError> {
        Ok(match piece {
            Piece::Text(text) => (*text).to_owned(),
            Piece::Name(name) => variable(name),
            Piece::Type(ty) => self.ty(ty),
            Piece::Constant { ty, bytes, name: Some(name) } if ty.holds_array() => self.table(name, ty, bytes)?,
            Piece::Constant { ty, bytes, .. } => self.constant(ty, bytes)?,
            Piece::Helper(index) => self.helpers.get(*index).cloned().unwrap_or_default(),
            Piece::Struct { ty, fields, base } => {
                let untyped =
                    || RenderError::Template("a struct expression without a type stands in no field".to_owned());
                let ty = ty.as_ref().or_else(|| within.and_then(struct_within)).ok_or_else(untyped)?;
                self.structure(ty, fields, base.as_deref())?
            }
            Piece::Line(_) => String::new(),
        })
    }

    fn inline(&mut self, pieces: &[Piece], within: Option<&ElementType>) -> Result<String, RenderError> {
        let mut text = String::new();
        for piece in pieces {
            text.push_str(&self.piece(piece, within)?);
        }
        Ok(text)
    }

    /// A struct expression: the fields in the order of declaration, those that are left out from the base.
    fn structure(
        &mut self,
        ty: &ElementType,
        fields: &[(&'static str, Vec<Piece>)],
        base: Option<&[Piece]>,
    ) -> Result<String, RenderError> {
        let name = self.ty(ty);
        let ElementKind::Struct(declared) = &ty.kind else { return Ok(format!("{name}{{}}")) };
        let base = base.map(|base| self.inline(base, None)).transpose()?;
        let mut values = Vec::new();
        for field in declared {
            let own = variable(&field.name);
            let value = match (fields.iter().find(|(name, _)| *name == field.name), &base) {
                (Some((_, value)), _) => {
                    let value = self.inline(value, Some(&field.ty))?;
                    // `&`, `|` and `^` of two truth values are an `int` in C++, which does not narrow by itself.
                    let bits = [" & ", " | ", " ^ "].iter().any(|operator| value.contains(operator));
                    let truth = matches!(field.ty.kind, ElementKind::Primitive(Primitive::Bool));
                    if bits && truth { format!("static_cast<bool>({value})") } else { value }
                }
                (None, Some(base)) => format!("{base}.{own}"),
                (None, None) => continue,
            };
            values.push(format!(".{own} = {value}"));
        }
        Ok(format!("{name}{{{}}}", values.join(", ")))
    }
}

/// The struct that a field holds, or an array of which it holds.
fn struct_within(ty: &ElementType) -> Option<&ElementType> {
    match &ty.kind {
        ElementKind::Struct(_) => Some(ty),
        ElementKind::Array { item, .. } => struct_within(item),
        _ => None,
    }
}

/// Text that knows on which line of the user's file each of its lines stands.
#[derive(Default)]
struct Lines {
    done: Vec<(Option<u32>, String)>,
    mark: Option<u32>,
    current: String,
}

impl Lines {
    fn mark(&mut self, number: u32) {
        self.mark = Some(number);
    }

    fn push(&mut self, text: &str) {
        let mut parts = text.split('\n');
        self.current.push_str(parts.next().unwrap_or_default());
        for part in parts {
            self.done.push((self.mark.take(), std::mem::take(&mut self.current)));
            self.current.push_str(part);
        }
    }

    /// The lines, indented, with a `#line` wherever counting on would be wrong.
    fn text(mut self, file: &str) -> String {
        if !self.current.is_empty() {
            self.done.push((self.mark.take(), std::mem::take(&mut self.current)));
        }
        let file = file.replace('\\', "\\\\").replace('"', "\\\"");
        let mut counted: Option<u32> = None;
        let mut text = Vec::new();
        for (mark, line) in self.done {
            if let Some(mark) = mark
                && counted != Some(mark)
            {
                text.push(format!("#line {mark} \"{file}\""));
                counted = Some(mark);
            }
            text.push(if line.is_empty() { line } else { format!("    {line}") });
            counted = counted.map(|counted| counted + 1);
        }
        text.join("\n")
    }
}
