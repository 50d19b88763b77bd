//! The types that a scan can read, combine and write.

use scan_codegen::{ElementType, Primitive};

use crate::{
    __private::types::{OfPrimitive, Operations},
    sealed::ByMacro,
};

#[cfg(feature = "cuda")]
use cudarc::driver::DeviceRepr as OnDevice;

/// What `cudarc` needs to know of an element: without it nothing.
#[cfg(not(feature = "cuda"))]
#[doc(hidden)]
pub trait OnDevice {}

#[cfg(not(feature = "cuda"))]
impl<T> OnDevice for T {}

/// A plain-data type with the same memory layout on the host and on the GPU.
///
/// All primitive numbers, `bool`, `half::f16`, `half::bf16` and arrays of elements are elements. Your own structs and enums without
/// fields become elements by `#[scan_element]`, which checks that each field is one and fixes the layout (`repr(C)`; of an enum,
/// `repr(u8)`).
///
/// With the feature `cuda` every element is `cudarc`'s `DeviceRepr`, so that its safe functions allocate and copy it.
///
/// The stored type can be smaller than the type that is combined:
///
/// ```
/// # #[cfg(feature = "half")] {
/// use scan_runtime::{ScanOp, Scanner, half::bf16, scan_op};
///
/// struct SumInFloat;
///
/// #[scan_op]
/// impl ScanOp for SumInFloat {
///     type Input = bf16;
///     type State = f32;
///     type Output = bf16;
///     const IDENTITY: f32 = 0.0;
///     fn lift(x: bf16) -> f32 {
///         x.to_f32()
///     }
///     fn combine(a: f32, b: f32) -> f32 {
///         a + b
///     }
///     fn project(sum: f32) -> bf16 {
///         bf16::from_f32(sum)
///     }
/// }
///
/// let sums = Scanner::cpu().scan(SumInFloat).run(&[bf16::ONE; 300]).unwrap();
/// assert_eq!(sums[299].to_f32(), 300.0); // in bf16 alone, 256 + 1 is 256
/// # }
/// ```
///
/// # Safety
///
/// The implementor guarantees that [`layout`](ScanElement::layout) gives the true size, alignment and field offsets of
/// `Self`, and that every value which a scan's operator can produce on the GPU is a valid `Self`.
/// `#[scan_element]` ensures both; nothing else can implement the trait.
///
/// For `bool` and enums, not every bit pattern is valid. The operator language makes a `bool` only by comparison and
/// logic, and an enum only by naming a variant; it has no cast to either. So an operator makes valid values from valid
/// ones. Host slices hold valid values, and so do device slices that `cudarc`'s safe functions made: only its `unsafe`
/// ones leave device memory uninitialised or take a pointer for a slice, and their caller is responsible for the
/// contents.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element that a scan can work on",
    label = "not a scan element",
    note = "elements are the primitive numbers, `bool`, `half::f16`, `half::bf16`, arrays of elements, and structs and enums marked `#[scan_element]`; a tuple is none, make a struct of it"
)]
pub unsafe trait ScanElement: OnDevice + Copy + Send + Sync + 'static {
    #[doc(hidden)]
    const SEALED: ByMacro;

    /// The layout of the type in memory, as Rust chose it.
    fn layout() -> ElementType;

    /// The operations that operators may use on values of the type. `#[scan_element]` writes this.
    #[doc(hidden)]
    const OPERATIONS: Operations = Operations::NONE;

    /// Whether the type is surely a primitive, which has no padding.
    #[doc(hidden)]
    const IS_PRIMITIVE: bool = false;
}

macro_rules! primitive_elements {
    ($($ty:ty => $name:ident),* $(,)?) => {$(
        // SAFETY: the size and alignment of a primitive are those of `Primitive`, checked below.
        unsafe impl ScanElement for $ty {
            const SEALED: ByMacro = ByMacro;
            fn layout() -> ElementType {
                const { assert!(size_of::<$ty>() == Primitive::$name.size()) };
                const { assert!(align_of::<$ty>() == Primitive::$name.size()) };
                ElementType::primitive(Primitive::$name)
            }
            const OPERATIONS: Operations = <$ty as OfPrimitive>::OPERATIONS;
            const IS_PRIMITIVE: bool = true;
        }
    )*};
}

primitive_elements! {
    bool => Bool,
    i8 => I8, i16 => I16, i32 => I32, i64 => I64, i128 => I128, isize => Isize,
    u8 => U8, u16 => U16, u32 => U32, u64 => U64, u128 => U128, usize => Usize,
    f32 => F32, f64 => F64,
}

#[cfg(feature = "half")]
primitive_elements! {
    half::f16 => F16, half::bf16 => Bf16,
}

// SAFETY: an array stores its items one after the other, without padding between them.
unsafe impl<T: ScanElement, const N: usize> ScanElement for [T; N] {
    const SEALED: ByMacro = ByMacro;
    fn layout() -> ElementType {
        ElementType::array(T::layout(), N)
    }
    const OPERATIONS: Operations = Operations::array(T::OPERATIONS);
}

/// The bytes of an element, with zeros for padding.
pub fn bytes_of<T: ScanElement>(value: &T) -> Vec<u8> {
    let layout = T::layout();
    let mut bytes = vec![0; layout.size];
    copy_fields(&layout, std::ptr::from_ref(value).cast(), &mut bytes);
    bytes
}

/// The same of a value, if there is one.
pub(crate) fn bytes_of_any<T: ScanElement>(value: Option<T>) -> Option<Vec<u8>> {
    value.as_ref().map(bytes_of)
}

/// Copies the bytes that carry a value, field by field, so that padding is never read.
fn copy_fields(layout: &ElementType, from: *const u8, to: &mut [u8]) {
    use scan_codegen::ElementKind::*;
    match &layout.kind {
        // Tables are not elements; their layout is never passed to this function.
        Table { .. } => {}
        Primitive(_) | Enum { .. } => {
            // SAFETY: `from` points at a live value of this layout, and `to` has room for its `size` bytes.
            unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), layout.size) }
        }
        Struct(fields) => {
            for field in fields {
                // SAFETY: the field is inside the value.
                let from = unsafe { from.add(field.offset) };
                copy_fields(&field.ty, from, &mut to[field.offset..field.offset + field.ty.size]);
            }
        }
        Array { item, len } => {
            for index in 0..*len {
                // SAFETY: the item is inside the value.
                let from = unsafe { from.add(index * item.size) };
                copy_fields(item, from, &mut to[index * item.size..(index + 1) * item.size]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan_element;

    #[scan_element(crate = crate)]
    #[derive(Clone, Copy)]
    enum Side {
        Left,
        Right,
    }

    #[scan_element(crate = crate)]
    #[derive(Clone, Copy)]
    struct Inner {
        side: Side,
        wide: u32,
    }

    #[scan_element(crate = crate)]
    #[derive(Clone, Copy)]
    struct Outer {
        flag: bool,
        inner: [Inner; 2],
        last: u16,
    }

    /// A variant has the number 0, which only rustc can tell.
    #[scan_element(crate = crate)]
    #[derive(Clone, Copy)]
    #[repr(i8)]
    enum Turn {
        Left = -ONE,
        None,
        Right = 5,
    }

    const ONE: i8 = 1;

    #[scan_element(crate = crate)]
    #[derive(Clone, Copy)]
    struct Generic<T, const N: usize> {
        items: [T; N],
        turn: Turn,
    }

    /// What is not is in `tests/ui/zeros.rs`.
    #[cfg(feature = "cuda")]
    #[test]
    fn structs_and_enums_of_which_zeros_are_a_value_are_allocated_as_zeros() {
        const fn bytes<T: ScanElement + cudarc::driver::ValidAsZeroBits>() -> usize {
            size_of::<T>()
        }
        assert_eq!((bytes::<Outer>(), bytes::<Side>(), bytes::<Turn>()), (24, 1, 1));
        assert_eq!((bytes::<Generic<f32, 3>>(), bytes::<Generic<Inner, 2>>()), (16, 20));
        assert_eq!((bytes::<crate::ops::Kept<u64>>(), bytes::<crate::ops::ExclusiveInclusive<u32>>()), (16, 8));
    }

    #[test]
    fn padding_is_zero_and_never_read() {
        let inner = |side, wide| Inner { side, wide };
        let outer =
            Outer { flag: true, inner: [inner(Side::Right, 0x0403_0201), inner(Side::Left, u32::MAX)], last: 0x0605 };
        let mut expected = vec![1, 0, 0, 0, 1, 0, 0, 0];
        expected.extend(0x0403_0201_u32.to_ne_bytes());
        expected.extend([0; 4]);
        expected.extend([0xff; 4]);
        expected.extend(0x0605_u16.to_ne_bytes());
        expected.extend([0; 2]);
        assert_eq!(bytes_of(&outer), expected);
    }
}
