//! The pieces of functions to CUDA text.

use std::collections::BTreeSet;

use serde::Serialize;

use super::lines::Lines;
use crate::{
    element::{ElementKind, ElementType, Field, Primitive},
    error::RenderError,
    literal::constant,
    names::{TypeNames, capital, collect, variable},
    operator::{FunctionSource, Piece},
    prelude::Needs,
    weight::Weight,
};

#[derive(Serialize)]
pub(super) struct FunctionText {
    /// `__forceinline__`, or `__noinline__` if it is too long to be inlined.
    inlined: &'static str,
    pub(super) name: String,
    returns: String,
    parameters: String,
    body: String,
}

/// A constant that is written once.
#[derive(Serialize)]
pub(super) struct TableText {
    name: String,
    ty: String,
    value: String,
    pub(super) kept: Option<KeptConstant>,
}

/// A constant array that a block copies to shared memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct KeptConstant {
    /// Its name there, which the operator's functions use.
    pub(crate) name: String,
    /// Its name in global memory.
    pub(crate) copied_from: String,
    /// Its number of items.
    pub(crate) len: usize,
}

#[derive(Serialize)]
pub(super) struct FieldText {
    pub(super) name: String,
    pub(super) ty: String,
}

#[derive(Default)]
pub(super) struct Writer {
    pub(super) names: TypeNames,
    pub(super) needs: Needs,
    /// The names of the helpers.
    pub(super) helpers: Vec<String>,
    /// The divisors that all elements share, each once.
    pub(super) divisors: BTreeSet<String>,
    /// Whether constant arrays are kept in shared memory.
    pub(super) keeps_constants: bool,
    /// The constants that are written once, each with its type and bytes.
    pub(super) tables: Vec<(TableText, ElementType, Vec<u8>)>,
}

impl Writer {
    /// The name of a type that the text then needs.
    pub(super) fn ty(&mut self, ty: &ElementType) -> String {
        collect(ty, &mut self.needs.parts);
        self.names.of(ty)
    }

    /// The name of the items of an array; of what is none, nothing.
    pub(super) fn item(&mut self, ty: &ElementType) -> String {
        match &ty.kind {
            ElementKind::Array { item, .. } => self.ty(item),
            _ => String::new(),
        }
    }

    pub(super) fn fields(&mut self, ty: &ElementType) -> Vec<FieldText> {
        let ElementKind::Struct(fields) = &ty.kind else { return Vec::new() };
        let field = |field: &Field| FieldText { name: variable(&field.name), ty: self.ty(&field.ty) };
        fields.iter().map(field).collect()
    }

    pub(super) fn constant(&mut self, ty: &ElementType, bytes: &[u8]) -> Result<String, RenderError> {
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
        let name = self.names.fresh(&capital(name));
        let kept = ty.kept_constant().filter(|_| self.keeps_constants).map(|(len, _)| KeptConstant {
            name: name.clone(),
            copied_from: self.names.fresh(&format!("{name}_IN_GLOBAL_MEMORY")),
            len,
        });
        let table = TableText { name: name.clone(), ty: type_name, value, kept };
        self.tables.push((table, ty.clone(), bytes.to_vec()));
        Ok(name)
    }

    /// Keeps the names of a type's fields away from the types.
    pub(super) fn reserve_fields(&mut self, ty: &ElementType) {
        match &ty.kind {
            ElementKind::Struct(fields) => {
                for field in fields {
                    self.names.avoid(variable(&field.name));
                    self.reserve_fields(&field.ty);
                }
            }
            ElementKind::Array { item, .. } | ElementKind::Table { item, .. } => self.reserve_fields(item),
            ElementKind::Primitive(_) | ElementKind::Enum { .. } => {}
        }
    }

    /// Keeps the names of locals and fields away from the types.
    pub(super) fn reserve(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            match piece {
                Piece::Name(name) => self.names.avoid(variable(name)),
                Piece::Struct { ty, fields, base } => {
                    ty.iter().for_each(|ty| self.reserve_fields(ty));
                    fields.iter().for_each(|(_, value)| self.reserve(value));
                    base.iter().for_each(|base| self.reserve(base));
                }
                Piece::Type(ty) | Piece::Constant { ty, .. } => self.reserve_fields(ty),
                Piece::Divisor(value) => self.reserve(value),
                Piece::Text(_) | Piece::Helper(_) | Piece::Line(_) => {}
            }
        }
    }

    pub(super) fn function(&mut self, function: &FunctionSource, weight: Weight) -> Result<FunctionText, RenderError> {
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
            Piece::Text(text) => text.clone().into_owned(),
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
            Piece::Divisor(value) => {
                let divisor = self.inline(value, None)?;
                // In a helper the parameter is an argument.
                if divisor.contains("this->") {
                    self.divisors.insert(divisor.clone());
                }
                divisor
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
