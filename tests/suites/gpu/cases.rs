//! Inputs and what their scans must give, made once and shared by the trials that scan them again and again.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError},
};

use scan_tests::{
    operators::{TestOperator, inputs},
    reference::{self, WAYS},
};

/// The longest scan of the lists; a shorter one is its beginning.
pub(crate) const LONGEST: usize = 8_388_611;

/// An operator's input of the length `LONGEST`, or of 64 MiB where that is less, and its scan in each of the four ways.
pub(crate) struct Case<Op: TestOperator> {
    input: Vec<Op::Item>,
    expected: [OnceLock<Vec<Op::Item>>; 4],
}

impl<Op: TestOperator> Case<Op> {
    /// The case of this operator, the same for all who ask.
    pub(crate) fn shared() -> Arc<Self> {
        static CASES: LazyLock<Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>> = LazyLock::new(Mutex::default);
        let mut cases = CASES.lock().unwrap_or_else(PoisonError::into_inner);
        let case = cases.entry(TypeId::of::<Op>()).or_insert_with(|| {
            let len = LONGEST.min((64 << 20) / size_of::<Op::Item>()).max(LONGEST / 8);
            Arc::new(Case::<Op> { input: inputs::<Op>(len), expected: Default::default() })
        });
        let case = Arc::clone(case).downcast();
        case.unwrap_or_else(|_| unreachable!("each type has a case of its own"))
    }

    /// The longest input.
    pub(crate) fn longest(&self) -> usize {
        self.input.len()
    }

    /// The first `len` inputs.
    pub(crate) fn input(&self, len: usize) -> &[Op::Item] {
        &self.input[..len]
    }

    /// What their scan gives, in the way with this place in [`WAYS`].
    pub(crate) fn expected(&self, way: usize, len: usize) -> &[Op::Item] {
        let all = self.expected[way].get_or_init(|| {
            let (kind, with_initial_value) = WAYS[way];
            reference::scan(&Op::new(), kind, with_initial_value.then(Op::initial_value), &self.input)
        });
        &all[..len]
    }
}
