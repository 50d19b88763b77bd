//! Which parts of the Rust-semantics prelude a text needs, and these parts.

mod intrinsics;
mod numbers;
mod signs;
mod uses;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use tera::Context;

use crate::{
    element::{ElementKind, ElementType},
    error::RenderError,
    target::Target,
    templates::Templates,
};
use intrinsics::{float_expressions, float_methods, intrinsics};
use numbers::{Float, Half, Integer, float, half, integer};
use signs::{ARITHMETIC, ASSIGNMENTS, COMPARISONS, DIVISIONS, FLOAT_ARITHMETIC, SHIFT_ASSIGNMENTS, WRAPPING_DIVISIONS};
use uses::{NEEDS_LIMITS, follow, primitives};

pub(crate) use intrinsics::c_functions;
pub(crate) use uses::may_panic;

/// What the bodies turned out to need.
#[derive(Default)]
pub(crate) struct Needs {
    /// Methods and operators, as the macro and the literals name them.
    pub(crate) uses: BTreeSet<&'static str>,
    /// Primitives and arrays, by name.
    pub(crate) parts: BTreeMap<String, ElementType>,
}

const PARTS: &[(&str, &str)] = &[
    ("intrinsics", include_str!("../../templates/prelude/intrinsics.cu.tera")),
    ("host", include_str!("../../templates/prelude/host.cu.tera")),
    ("gathers", include_str!("../../templates/prelude/gathers.cu.tera")),
    ("helpers", include_str!("../../templates/prelude/helpers.cu.tera")),
    ("integer", include_str!("../../templates/prelude/integer.cu.tera")),
    ("invariant", include_str!("../../templates/prelude/invariant.cu.tera")),
    ("float", include_str!("../../templates/prelude/float.cu.tera")),
    ("half", include_str!("../../templates/prelude/half.cu.tera")),
    ("generic", include_str!("../../templates/prelude/generic.cu.tera")),
    ("bytes", include_str!("../../templates/prelude/bytes.cu.tera")),
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
    context.insert("intrinsics", &intrinsics(&uses));
    context.insert("float_methods", &float_methods(&uses));
    context.insert("float_expressions", &float_expressions(&uses));

    let tera = &*TEMPLATES;
    let intrinsics = match target {
        Target::Cuda => "intrinsics",
        Target::Host => "host",
    };
    let first = [intrinsics, "gathers", "helpers"].map(|part| tera.render(part, &context));
    let mut rendered = first.into_iter().collect::<Result<Vec<_>, _>>()?;
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
    rendered.push(tera.render("bytes", &context)?);
    let rendered: Vec<&str> = rendered.iter().map(|part| part.trim()).filter(|part| !part.is_empty()).collect();
    Ok(rendered.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A user's function or type of the same name would be another one of C++, or none.
    #[test]
    fn names_that_the_prelude_declares_are_reserved() {
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
