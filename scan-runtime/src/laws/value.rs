//! Values of any element type, accessed leaf by leaf through the layout: shown, compared, changed by a little.
//!
//! All code works on bytes and layouts, not on types, so it is compiled once and not for each operator that is checked.

use scan_codegen::{ElementKind, ElementType, Primitive};

use crate::{ScanElement, element::bytes_of};

/// The bytes of an element, with zeros for padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value(Vec<u8>);

impl Value {
    pub(super) fn of<T: ScanElement>(element: &T) -> Self {
        Value(bytes_of(element))
    }

    /// The element.
    ///
    /// # Safety
    ///
    /// The value is one of type `T`: made by [`of`](Value::of) or by a [`Shape`] of it.
    pub(super) unsafe fn element<T: ScanElement>(&self) -> T {
        debug_assert_eq!(self.0.len(), size_of::<T>());
        // SAFETY: these are the bytes of a `T`, except for padding, which may hold any bytes.
        unsafe { self.0.as_ptr().cast::<T>().read_unaligned() }
    }
}

/// A number of an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar {
    Int(i128),
    /// A `u128` that is no `i128`, or any other unsigned number.
    Unsigned(u128),
    Float(f64),
    Bool(bool),
}

/// The place of a number in an element.
#[derive(Clone, Debug)]
struct Leaf {
    /// `.b[1]`; empty where the element is the number itself.
    path: String,
    offset: usize,
    primitive: Primitive,
}

/// The layout of a type, flat.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    layout: ElementType,
    leaves: Vec<Leaf>,
    /// Whether every number can take any value of its primitive type.
    free: bool,
}

/// How two values differ where they differ most.
#[derive(Clone, Debug)]
pub(super) struct Difference {
    /// Which number: `.b[1]`.
    pub(super) path: String,
    /// How far the floats are apart; `None` for what must be equal.
    pub(super) amount: Option<f64>,
    /// How far they may be.
    pub(super) allowed: f64,
    /// `amount / allowed`; infinite for what must be equal.
    pub(super) severity: f64,
}

macro_rules! read {
    ($bytes:ident, $variant:ident, $ty:ty) => {{
        let mut raw = [0; size_of::<$ty>()];
        raw.copy_from_slice(&$bytes[..size_of::<$ty>()]);
        Scalar::$variant(<$ty>::from_ne_bytes(raw).into())
    }};
}

fn read(primitive: Primitive, bytes: &[u8]) -> Scalar {
    match primitive {
        Primitive::Bool => Scalar::Bool(bytes[0] != 0),
        Primitive::I8 => read!(bytes, Int, i8),
        Primitive::I16 => read!(bytes, Int, i16),
        Primitive::I32 => read!(bytes, Int, i32),
        Primitive::I64 | Primitive::Isize => read!(bytes, Int, i64),
        Primitive::I128 => read!(bytes, Int, i128),
        Primitive::U8 => read!(bytes, Unsigned, u8),
        Primitive::U16 => read!(bytes, Unsigned, u16),
        Primitive::U32 => read!(bytes, Unsigned, u32),
        Primitive::U64 | Primitive::Usize => read!(bytes, Unsigned, u64),
        Primitive::U128 => read!(bytes, Unsigned, u128),
        #[cfg(feature = "half")]
        Primitive::F16 => Scalar::Float(half::f16::from_ne_bytes([bytes[0], bytes[1]]).to_f64()),
        #[cfg(feature = "half")]
        Primitive::Bf16 => Scalar::Float(half::bf16::from_ne_bytes([bytes[0], bytes[1]]).to_f64()),
        // Without the feature no Rust type has this layout.
        #[cfg(not(feature = "half"))]
        Primitive::F16 | Primitive::Bf16 => read!(bytes, Unsigned, u16),
        Primitive::F32 => read!(bytes, Float, f32),
        Primitive::F64 => read!(bytes, Float, f64),
    }
}

/// Writes a number into the bytes of its primitive type; integers lose the bits that do not fit.
fn write(scalar: Scalar, primitive: Primitive, to: &mut [u8]) {
    let integer = match scalar {
        Scalar::Int(value) => value as u128,
        Scalar::Unsigned(value) => value,
        Scalar::Bool(value) => u128::from(value),
        Scalar::Float(value) => match primitive {
            #[cfg(feature = "half")]
            Primitive::F16 => return to.copy_from_slice(&half::f16::from_f64(value).to_ne_bytes()),
            #[cfg(feature = "half")]
            Primitive::Bf16 => return to.copy_from_slice(&half::bf16::from_f64(value).to_ne_bytes()),
            Primitive::F32 => return to.copy_from_slice(&(value as f32).to_ne_bytes()),
            Primitive::F64 => return to.copy_from_slice(&value.to_ne_bytes()),
            _ => value as i128 as u128,
        },
    };
    let bytes = integer.to_ne_bytes();
    let size = to.len();
    match cfg!(target_endian = "big") {
        true => to.copy_from_slice(&bytes[bytes.len() - size..]),
        false => to.copy_from_slice(&bytes[..size]),
    }
}

/// The relative distance of neighbouring floats.
pub(super) fn epsilon(primitive: Primitive) -> f64 {
    match primitive {
        Primitive::F16 => 1.0 / 1024.0,
        Primitive::Bf16 => 1.0 / 128.0,
        Primitive::F32 => f64::from(f32::EPSILON),
        _ => f64::EPSILON,
    }
}

impl Scalar {
    pub(super) fn float(self) -> Option<f64> {
        match self {
            Scalar::Float(value) => Some(value),
            _ => None,
        }
    }

    /// The absolute value of the number.
    pub(super) fn magnitude(self) -> f64 {
        match self {
            Scalar::Int(value) => value as f64,
            Scalar::Unsigned(value) => value as f64,
            Scalar::Float(value) => value,
            Scalar::Bool(value) => f64::from(u8::from(value)),
        }
        .abs()
    }

    /// How complex it is to read: 0, then 1, then small whole numbers, then the rest.
    fn complexity(self) -> u64 {
        let whole = |value: u128| u64::from(u128::BITS - value.leading_zeros()) * 2;
        match self {
            Scalar::Bool(value) => u64::from(value),
            Scalar::Unsigned(value) => whole(value),
            Scalar::Int(value) => whole(value.unsigned_abs()) + u64::from(value < 0),
            Scalar::Float(value) if value.fract() == 0.0 && value.abs() < 1e9 => {
                whole(value.abs() as u128) + u64::from(value.is_sign_negative())
            }
            Scalar::Float(value) if value.is_finite() => {
                let fraction = 52 - u64::from((value.to_bits() & ((1 << 52) - 1)).trailing_zeros()).min(52);
                let exponent = (value.to_bits() >> 52 & 0x7ff).abs_diff(1023);
                64 + fraction + exponent + u64::from(value < 0.0)
            }
            Scalar::Float(_) => 4096,
        }
    }
}

impl Shape {
    pub(super) fn of(layout: ElementType) -> Self {
        let mut shape = Shape { layout: layout.clone(), leaves: Vec::new(), free: true };
        shape.add(&layout, String::new(), 0);
        shape
    }

    fn add(&mut self, layout: &ElementType, path: String, offset: usize) {
        match &layout.kind {
            ElementKind::Primitive(primitive) => {
                // A type of another name that looks like a number may not have all of its values.
                self.free &= layout.name == primitive.name();
                self.leaves.push(Leaf { path, offset, primitive: *primitive });
            }
            ElementKind::Enum { repr, .. } => {
                // Not every number is a variant.
                self.free = false;
                self.leaves.push(Leaf { path, offset, primitive: *repr });
            }
            // No element is a table.
            ElementKind::Table { .. } => self.free = false,
            ElementKind::Struct(fields) => {
                for field in fields {
                    self.add(&field.ty, format!("{path}.{}", field.name), offset + field.offset);
                }
            }
            ElementKind::Array { item, len } => {
                for index in 0..*len {
                    self.add(item, format!("{path}[{index}]"), offset + index * item.size);
                }
            }
        }
    }

    pub(super) fn primitives(&self) -> impl Iterator<Item = Primitive> {
        self.leaves.iter().map(|leaf| leaf.primitive)
    }

    /// The path of a leaf: `.b[1]`.
    pub(super) fn path(&self, leaf: usize) -> &str {
        self.leaves.get(leaf).map_or("", |leaf| &leaf.path)
    }

    /// Whether every leaf is an integer or a float.
    pub(super) fn is_numeric(&self) -> bool {
        self.free && self.primitives().all(|primitive| primitive != Primitive::Bool)
    }

    pub(super) fn scalars(&self, value: &Value) -> Vec<Scalar> {
        self.leaves.iter().map(|leaf| read(leaf.primitive, &value.0[leaf.offset..])).collect()
    }

    /// The value of these numbers; `None` where they need not make one: every leaf is a primitive, which holds a value of its
    /// type (a `bool` 0 or 1), and the bytes between the leaves are padding.
    pub(super) fn value(&self, scalars: &[Scalar]) -> Option<Value> {
        if !self.free || scalars.len() != self.leaves.len() {
            return None;
        }
        let mut bytes = vec![0; self.layout.size];
        for (leaf, &scalar) in self.leaves.iter().zip(scalars) {
            if leaf.primitive == Primitive::Bool && !matches!(scalar, Scalar::Bool(_)) {
                return None;
            }
            write(scalar, leaf.primitive, &mut bytes[leaf.offset..leaf.offset + leaf.primitive.size()]);
        }
        Some(Value(bytes))
    }

    pub(super) fn complexity(&self, value: &Value) -> u64 {
        self.scalars(value).into_iter().map(Scalar::complexity).sum()
    }

    /// The largest of its integers, by magnitude; 0 where it has none.
    pub(super) fn largest_integer(&self, value: &Value) -> u128 {
        let magnitudes = self.scalars(value).into_iter().map(|scalar| match scalar {
            Scalar::Int(number) => number.unsigned_abs(),
            Scalar::Unsigned(number) => number,
            Scalar::Float(_) | Scalar::Bool(_) => 0,
        });
        magnitudes.max().unwrap_or(0)
    }

    /// Whether no float of it is infinite or NaN.
    pub(super) fn is_finite(&self, value: &Value) -> bool {
        self.scalars(value).into_iter().filter_map(Scalar::float).all(f64::is_finite)
    }

    pub(super) fn has_nan(&self, value: &Value) -> bool {
        self.scalars(value).into_iter().filter_map(Scalar::float).any(f64::is_nan)
    }

    /// The value with each float changed by `tolerance` of itself, up or down. Equal floats are changed equally, so that
    /// comparisons for equality come out as before.
    pub(super) fn nudged(&self, value: &Value, tolerance: Option<f64>, trial: u64) -> Value {
        let mut scalars = self.scalars(value);
        for (scalar, primitive) in scalars.iter_mut().zip(self.primitives()) {
            if let Scalar::Float(float) = scalar {
                let up = super::mixed(float.to_bits() ^ trial.wrapping_mul(0x9e37_79b9)) & 1 == 0;
                let by = self.tolerance(tolerance, primitive);
                *float *= if up { 1.0 + by } else { 1.0 - by };
            }
        }
        self.value(&scalars).unwrap_or_else(|| value.clone())
    }

    /// The tolerance of a float type: what the user said, or some last digits.
    pub(super) fn tolerance(&self, tolerance: Option<f64>, primitive: Primitive) -> f64 {
        tolerance.unwrap_or_else(|| 64.0 * epsilon(primitive))
    }

    /// Where the values differ most, relative to what each float may differ by; `None` if they are equal within that.
    pub(super) fn difference(&self, left: &Value, right: &Value, allowed: &[f64]) -> Option<Difference> {
        let mut worst: Option<Difference> = None;
        let pairs = self.scalars(left).into_iter().zip(self.scalars(right));
        for ((leaf, &allowed), (left, right)) in self.leaves.iter().zip(allowed).zip(pairs) {
            let (amount, severity) = match (left, right) {
                (Scalar::Float(left), Scalar::Float(right)) => {
                    if left == right || left.is_nan() && right.is_nan() {
                        continue;
                    }
                    let amount = (left - right).abs();
                    match amount.is_finite() {
                        true if amount <= allowed => continue,
                        true => (Some(amount), amount / allowed),
                        false => (None, f64::INFINITY),
                    }
                }
                (left, right) if left == right => continue,
                _ => (None, f64::INFINITY),
            };
            if worst.as_ref().is_none_or(|worst| severity > worst.severity) {
                worst = Some(Difference { path: leaf.path.clone(), amount, allowed, severity });
            }
        }
        worst
    }

    /// Whether one has 0.0 where the other has -0.0.
    pub(super) fn differs_in_signs(&self, left: &Value, right: &Value) -> bool {
        let zeros = |scalar: Scalar| scalar.float().filter(|float| *float == 0.0);
        let pairs = self.scalars(left).into_iter().zip(self.scalars(right));
        let mut pairs = pairs.filter_map(|(left, right)| zeros(left).zip(zeros(right)));
        pairs.any(|(left, right)| left.is_sign_negative() != right.is_sign_negative())
    }

    /// The value in Rust notation.
    pub(super) fn show(&self, value: &Value) -> String {
        show(&self.layout, &value.0)
    }
}

fn show(layout: &ElementType, bytes: &[u8]) -> String {
    match &layout.kind {
        ElementKind::Primitive(primitive) => match (read(*primitive, bytes), primitive) {
            (Scalar::Float(value), Primitive::F16 | Primitive::Bf16 | Primitive::F32) => format!("{:?}", value as f32),
            (Scalar::Float(value), _) => format!("{value:?}"),
            (Scalar::Int(value), _) => value.to_string(),
            (Scalar::Unsigned(value), _) => value.to_string(),
            (Scalar::Bool(value), _) => value.to_string(),
        },
        ElementKind::Enum { repr, variants } => {
            let number = match read(*repr, bytes) {
                Scalar::Int(value) => value,
                Scalar::Unsigned(value) => value as i128,
                _ => 0,
            };
            let variant = variants.iter().find(|(_, known)| *known == number);
            variant.map_or_else(|| number.to_string(), |(variant, _)| format!("{}::{variant}", layout.name))
        }
        ElementKind::Table { .. } => layout.name.clone(),
        ElementKind::Struct(fields) => {
            let value = |field: &scan_codegen::Field| show(&field.ty, &bytes[field.offset..]);
            let name = &layout.name;
            if fields.first().is_some_and(|field| field.name == "0") {
                let values: Vec<String> = fields.iter().map(value).collect();
                return format!("{name}({})", values.join(", "));
            }
            let values: Vec<String> = fields.iter().map(|field| format!("{}: {}", field.name, value(field))).collect();
            format!("{name} {{ {} }}", values.join(", "))
        }
        ElementKind::Array { item, len } => {
            let items: Vec<String> = (0..*len).map(|index| show(item, &bytes[index * item.size..])).collect();
            format!("[{}]", items.join(", "))
        }
    }
}
