//! A few values without an allocation.

use std::ops::Deref;

/// The most arrays of an input or output.
pub(crate) const MAX_ARRAYS: usize = 16;

/// As many values as an input or output has arrays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Few<T> {
    values: [T; MAX_ARRAYS],
    count: usize,
}

impl<T: Copy + Default> Default for Few<T> {
    fn default() -> Self {
        Few { values: [T::default(); MAX_ARRAYS], count: 0 }
    }
}

impl<T: Copy + Default> Few<T> {
    /// Adds a value, as long as there is room.
    pub(crate) fn push(&mut self, value: T) {
        if let Some(place) = self.values.get_mut(self.count) {
            *place = value;
            self.count += 1;
        }
    }
}

impl<T: Copy + Default> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut few = Few::default();
        values.into_iter().for_each(|value| few.push(value));
        few
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.values.get(..self.count).unwrap_or_default()
    }
}
