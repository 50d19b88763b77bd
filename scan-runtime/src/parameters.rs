//! The fields of an operator that its functions read: values known only at run time.

use std::{fmt, mem::MaybeUninit, ops::Deref, sync::Arc};

use scan_codegen::{ElementKind, ElementType, ShortTable};

#[cfg(feature = "cuda")]
use crate::cuda::DeviceCopies;
use crate::{ScanElement, element::bytes_of};

/// The type of a field of an operator that its functions may read: an element, or a [`Table`].
///
/// The value is a kernel argument, passed at every launch, so that another value needs no compilation, and another
/// table only if its length is of another class ([`Table`]).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of an operator",
    label = "read by the operator",
    note = "parameters are elements, and `Table<T>` for many items: `Table::from(vec)`"
)]
pub trait Parameter: sealed::Sealed {
    /// The layout of the kernel argument.
    #[doc(hidden)]
    fn parameter_layout(&self) -> ElementType;

    /// Writes the kernel argument, as far as the host knows it.
    #[doc(hidden)]
    fn write(&self, offset: usize, parameters: &mut Parameters);
}

/// Kernels read a parameter through its layout, so `layout` and `write` must agree; only this crate implements them.
mod sealed {
    use super::{ScanElement, Table};

    pub trait Sealed {}
    impl<T: ScanElement> Sealed for T {}
    impl<T: ScanElement> Sealed for Table<T> {}
}

impl<T: ScanElement> Parameter for T {
    fn parameter_layout(&self) -> ElementType {
        T::layout()
    }

    fn write(&self, offset: usize, parameters: &mut Parameters) {
        parameters.put(offset, &bytes_of(self));
    }
}

/// The fields of an operator that its functions read.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    fields: Vec<(String, ElementType)>,
    bytes: Vec<u8>,
    tables: Vec<TableAt>,
}

/// A table, and the offset of its item pointer within the parameters.
#[derive(Clone)]
pub(crate) struct TableAt {
    pub(crate) offset: usize,
    pub(crate) table: Arc<dyn AnyTable>,
    /// The class of tables that kernels are made for.
    pub(crate) short: Option<ShortTable>,
}

impl fmt::Debug for TableAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a table of {} bytes, at offset {}", self.table.bytes().len(), self.offset)
    }
}

impl Parameters {
    /// The same with one more field.
    #[doc(hidden)]
    pub fn with(mut self, name: &str, field: &impl Parameter) -> Self {
        self.fields.push((name.to_owned(), field.parameter_layout()));
        let layout = self.structure("");
        self.bytes.resize(layout.size, 0);
        if let ElementKind::Struct(fields) = &layout.kind
            && let Some(last) = fields.last()
        {
            field.write(last.offset, &mut self);
        }
        self
    }

    /// The same with one more field, which holds all fields of another operator. Unchanged if that operator has none.
    pub(crate) fn with_all(mut self, name: &str, operator: &str, others: Parameters) -> Self {
        let Some(layout) = others.layout(operator) else { return self };
        self.fields.push((name.to_owned(), layout));
        let layout = self.structure("");
        self.bytes.resize(layout.size, 0);
        if let ElementKind::Struct(fields) = &layout.kind
            && let Some(last) = fields.last()
        {
            self.put(last.offset, &others.bytes);
            let moved = |at: TableAt| TableAt { offset: last.offset + at.offset, ..at };
            self.tables.extend(others.tables.into_iter().map(moved));
        }
        self
    }

    fn put(&mut self, offset: usize, bytes: &[u8]) {
        if let Some(place) = self.bytes.get_mut(offset..offset + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    fn structure(&self, name: &str) -> ElementType {
        ElementType::structure(name.to_owned(), self.fields.iter().cloned())
    }

    /// The layout of the struct that is passed to the kernels; `None` if there are no fields.
    pub(crate) fn layout(&self, name: &str) -> Option<ElementType> {
        (!self.fields.is_empty()).then(|| self.structure(name))
    }

    /// The struct's bytes; tables point at their items in host memory.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The tables.
    pub(crate) fn tables(&self) -> &[TableAt] {
        &self.tables
    }
}

/// An array of items that an operator reads by index, such as the transitions of an automaton: `self.table[i]`.
///
/// Made from a vector, an array or an iterator, and read like a slice. A clone is cheap: it shares the items. The first
/// scan on a device copies them there. They stay until the last clone is dropped, which waits for the work in progress
/// on that device. An index past the end is a panic, as everywhere in an operator.
///
/// Scans of long inputs keep tables of up to 8 KiB in shared memory, if those of an operator have no more than that
/// together. So another table needs no compilation if it is about as long: if its bytes, rounded up to a power of two,
/// are as many, and if both have 256 items or neither has. All tables beyond 8 KiB share their kernels.
///
/// ```
/// use scan_runtime::{ScanOp, Scanner, Table, scan_op};
///
/// /// Adds up weights that are known when the program runs.
/// struct Weigh {
///     weights: Table<u32>,
/// }
///
/// #[scan_op]
/// impl ScanOp for Weigh {
///     type Input = u8;
///     type State = u32;
///     type Output = u32;
///     const IDENTITY: u32 = 0;
///     fn lift(&self, x: u8) -> u32 { self.weights[x as usize] }
///     fn combine(a: u32, b: u32) -> u32 { a + b }
/// }
///
/// let weights = Table::from([1, 10, 100]);
/// let scanner = Scanner::new()?;
/// assert_eq!(scanner.scan(Weigh { weights }).run(&[2, 0, 1])?, [100, 101, 111]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone)]
pub struct Table<T> {
    shared: Arc<Shared<T>>,
}

/// Without devices there are no copies.
#[cfg(not(feature = "cuda"))]
#[derive(Default)]
pub(crate) struct DeviceCopies;

/// The items, and their copies on devices.
struct Shared<T> {
    items: Box<[T]>,
    copies: DeviceCopies,
}

/// A table of items of any type.
pub(crate) trait AnyTable: Send + Sync {
    /// The items in host memory.
    fn bytes(&self) -> &[MaybeUninit<u8>];
    /// Where they have been copied.
    fn copies(&self) -> &DeviceCopies;
}

impl<T: ScanElement> AnyTable for Shared<T> {
    fn bytes(&self) -> &[MaybeUninit<u8>] {
        // SAFETY: the slice has this many bytes, and `MaybeUninit` bytes may be those of any type, padding included.
        unsafe { std::slice::from_raw_parts(self.items.as_ptr().cast(), size_of_val::<[T]>(&self.items)) }
    }

    fn copies(&self) -> &DeviceCopies {
        &self.copies
    }
}

impl<T> Deref for Table<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.shared.items
    }
}

impl<T: fmt::Debug> fmt::Debug for Table<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.items.fmt(f)
    }
}

impl<T> From<Vec<T>> for Table<T> {
    fn from(items: Vec<T>) -> Self {
        Table { shared: Arc::new(Shared { items: items.into_boxed_slice(), copies: Default::default() }) }
    }
}

impl<T, const N: usize> From<[T; N]> for Table<T> {
    fn from(items: [T; N]) -> Self {
        Table::from(Vec::from(items))
    }
}

impl<T: Clone> From<&[T]> for Table<T> {
    fn from(items: &[T]) -> Self {
        Table::from(items.to_vec())
    }
}

impl<T> FromIterator<T> for Table<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Table::from(items.into_iter().collect::<Vec<T>>())
    }
}

impl<T: ScanElement> Parameter for Table<T> {
    fn parameter_layout(&self) -> ElementType {
        ElementType::table(T::layout(), self.len())
    }

    fn write(&self, offset: usize, parameters: &mut Parameters) {
        let pointer = self.shared.items.as_ptr() as usize as u64;
        parameters.put(offset, &pointer.to_le_bytes());
        parameters.put(offset + 8, &(self.shared.items.len() as u64).to_le_bytes());
        let short = ShortTable::of(self.len(), size_of::<T>());
        parameters.tables.push(TableAt { offset, table: self.shared.clone(), short });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan_element;

    #[scan_element(crate = crate)]
    #[derive(Clone, Copy)]
    struct Padded {
        small: u8,
        large: u64,
    }

    #[test]
    fn fields_lie_where_the_layout_says() {
        let padded = Padded { small: 7, large: 9 };
        let table = Table::from([padded; 3]);
        let parameters = Parameters::default()
            .with("flag", &true)
            .with("table", &table)
            .with("small", &3_u16)
            .with("empty", &Table::<u32>::from(vec![]))
            .with("padded", &padded);
        let layout = parameters.layout("Op").unwrap();
        assert_eq!(layout.size, parameters.bytes().len());
        let ElementKind::Struct(fields) = &layout.kind else { panic!("{layout:?}") };
        let field = |index: usize| &parameters.bytes()[fields[index].offset..][..fields[index].ty.size];
        assert_eq!(field(0), [1]);
        assert_eq!(field(1)[..8], (table.as_ptr() as usize as u64).to_le_bytes());
        assert_eq!(field(1)[8..], 3_u64.to_le_bytes());
        assert_eq!(field(2), 3_u16.to_ne_bytes());
        assert_eq!(field(3)[8..], 0_u64.to_le_bytes());
        assert_eq!(field(4), bytes_of(&padded));
        let tables: Vec<_> = parameters.tables().iter().map(|at| (at.offset, at.table.bytes().len())).collect();
        assert_eq!(tables, [(fields[1].offset, 48), (fields[3].offset, 0)]);
        // The copies hold the items when the caller's are gone.
        let copy = parameters.clone();
        drop((table, parameters));
        let items = copy.tables()[0].table.clone();
        // SAFETY: the first byte of an item is a field of it.
        assert_eq!(unsafe { items.bytes()[0].assume_init() }, 7);
    }
}
