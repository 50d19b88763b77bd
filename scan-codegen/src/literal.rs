//! Values that Rust computed, as expressions of the generated CUDA.

use crate::element::{ElementKind, ElementType, Primitive};
use crate::error::RenderError;
use crate::names::{TypeNames, variable};

/// A constant, with the name of its type: `f32(0.1f)`, `Affine{.a = 1.0f, .b = 0.0f}`.
pub(crate) fn constant(ty: &ElementType, bytes: &[u8], names: &mut TypeNames) -> Result<String, RenderError> {
    let value = bare(ty, bytes, names)?;
    Ok(match &ty.kind {
        ElementKind::Primitive(Primitive::Bool) => value,
        ElementKind::Primitive(primitive) if !value.contains("::") => format!("{}({value})", primitive.name()),
        _ => value,
    })
}

/// A constant in a place that determines its type.
fn bare(ty: &ElementType, bytes: &[u8], names: &mut TypeNames) -> Result<String, RenderError> {
    if bytes.len() != ty.size {
        return Err(RenderError::ConstantSize { ty: ty.name.clone(), found: bytes.len(), expected: ty.size });
    }
    Ok(match &ty.kind {
        ElementKind::Primitive(primitive) => number(*primitive, bytes),
        ElementKind::Struct(fields) => {
            let mut values = Vec::new();
            for field in fields {
                let part = bytes.get(field.offset..field.offset + field.ty.size).unwrap_or_default();
                values.push(format!(".{} = {}", variable(&field.name), bare(&field.ty, part, names)?));
            }
            format!("{}{{{}}}", names.of(ty), values.join(", "))
        }
        ElementKind::Array { item, len } => {
            let mut values = Vec::new();
            for index in 0..*len {
                let part = bytes.get(index * item.size..(index + 1) * item.size).unwrap_or_default();
                values.push(bare(item, part, names)?);
            }
            format!("{}{{{}}}", names.of(ty), values.join(", "))
        }
        ElementKind::Enum { variants, .. } => {
            let (name, value) = (names.of(ty), signed(bytes));
            // The number as its type holds it: one without a sign has come as a sum of bits.
            let mask = if bytes.len() >= 16 { -1 } else { (1_i128 << (8 * bytes.len())) - 1 };
            match variants.iter().find(|(_, number)| number & mask == value & mask) {
                Some((variant, _)) => format!("{name}::{}", variable(variant)),
                None => format!("static_cast<{name}>({value})"),
            }
        }
        // A table's place is known when it is launched.
        ElementKind::Table { .. } => format!("{}{{}}", names.of(ty)),
    })
}

/// The value of these bytes, with its sign.
fn signed(bytes: &[u8]) -> i128 {
    let mut wide = [0; 16];
    wide[..bytes.len()].copy_from_slice(bytes);
    let unused = 128 - 8 * bytes.len() as u32;
    if unused == 128 { 0 } else { (i128::from_le_bytes(wide) << unused) >> unused }
}

/// A literal whose C++ type is the one inside the wrapper.
fn number(primitive: Primitive, bytes: &[u8]) -> String {
    let mut wide = [0; 16];
    wide[..bytes.len()].copy_from_slice(bytes);
    let bits = u128::from_le_bytes(wide);
    let signed = signed(bytes);
    match primitive {
        Primitive::Bool => (bits != 0).to_string(),
        Primitive::U8 | Primitive::U16 => bits.to_string(),
        Primitive::U32 => format!("{bits}u"),
        Primitive::U64 | Primitive::Usize => format!("{bits}ull"),
        Primitive::I8 | Primitive::I16 => signed.to_string(),
        Primitive::I32 if signed == i128::from(i32::MIN) => "-2147483647 - 1".to_owned(),
        Primitive::I32 => signed.to_string(),
        Primitive::I64 | Primitive::Isize if signed == i128::from(i64::MIN) => "-9223372036854775807ll - 1".to_owned(),
        Primitive::I64 | Primitive::Isize => format!("{signed}ll"),
        Primitive::I128 => wide_number("__int128", bits),
        Primitive::U128 => wide_number("unsigned __int128", bits),
        // C++ has no literals of halves. The comment with the value is for the reader.
        Primitive::F16 => format!("f16::from_bits({bits:#06x} /* {:?} */)", f16_value(bits as u16)),
        Primitive::Bf16 => format!("bf16::from_bits({bits:#06x} /* {:?} */)", f32::from_bits((bits as u32) << 16)),
        Primitive::F32 => {
            let value = f32::from_bits(bits as u32);
            if value.is_finite() { format!("{value:?}f") } else { format!("f32::from_bits({bits:#x}u)") }
        }
        Primitive::F64 => {
            let value = f64::from_bits(bits as u64);
            if value.is_finite() { format!("{value:?}") } else { format!("f64::from_bits({bits:#x}ull)") }
        }
    }
}

/// The number that these bits of an f16 are.
fn f16_value(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f32::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2.0_f32.powi(-24),
        0x1f if fraction == 0.0 => f32::INFINITY,
        0x1f => f32::NAN,
        _ => (1024.0 + fraction) * 2.0_f32.powi(exponent - 25),
    }
}

fn wide_number(ty: &str, bits: u128) -> String {
    let (high, low) = ((bits >> 64) as u64, bits as u64);
    match high {
        0 => format!("static_cast<{ty}>({low}ull)"),
        _ => format!("static_cast<{ty}>({high:#x}ull) << 64 | {low:#x}ull"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(primitive: Primitive, bytes: &[u8]) -> String {
        constant(&ElementType::primitive(primitive), bytes, &mut TypeNames::default()).unwrap()
    }

    #[test]
    fn literals_of_numbers_keep_every_bit() {
        assert_eq!(text(Primitive::F32, &0.1f32.to_le_bytes()), "f32(0.1f)");
        assert_eq!(text(Primitive::F32, &(-0.0f32).to_le_bytes()), "f32(-0.0f)");
        assert_eq!(text(Primitive::F32, &1e30f32.to_le_bytes()), "f32(1e30f)");
        assert_eq!(text(Primitive::F32, &f32::NEG_INFINITY.to_le_bytes()), "f32::from_bits(0xff800000u)");
        assert_eq!(text(Primitive::F64, &f64::INFINITY.to_le_bytes()), "f64::from_bits(0x7ff0000000000000ull)");
        assert_eq!(text(Primitive::F16, &0xc100_u16.to_le_bytes()), "f16::from_bits(0xc100 /* -2.5 */)");
        assert_eq!(text(Primitive::F16, &1_u16.to_le_bytes()), "f16::from_bits(0x0001 /* 5.9604645e-8 */)");
        assert_eq!(text(Primitive::F16, &0xfc00_u16.to_le_bytes()), "f16::from_bits(0xfc00 /* -inf */)");
        assert_eq!(text(Primitive::Bf16, &0x3f80_u16.to_le_bytes()), "bf16::from_bits(0x3f80 /* 1.0 */)");
        assert_eq!(text(Primitive::I8, &(-128i8).to_le_bytes()), "i8(-128)");
        assert_eq!(text(Primitive::I32, &i32::MIN.to_le_bytes()), "i32(-2147483647 - 1)");
        assert_eq!(text(Primitive::I64, &(-5i64).to_le_bytes()), "i64(-5ll)");
        assert_eq!(
            text(Primitive::U128, &(1u128 << 64).to_le_bytes()),
            "u128(static_cast<unsigned __int128>(0x1ull) << 64 | 0x0ull)"
        );
        assert_eq!(text(Primitive::Bool, &[1]), "true");
    }

    #[test]
    fn the_number_of_bytes_must_fit() {
        let ty = ElementType::primitive(Primitive::F32);
        let error = constant(&ty, &[0; 3], &mut TypeNames::default()).unwrap_err();
        assert_eq!(error.to_string(), "a constant of type `f32` has 3 bytes, not 4");
    }
}
