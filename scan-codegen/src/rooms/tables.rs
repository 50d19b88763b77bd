//! The operator's tables that a block keeps in shared memory.

use serde::Serialize;

use super::{Room, Words};
use crate::{
    constants::WORD,
    element::{ElementType, ShortTable},
    names::variable,
    operator::OpSource,
    operator_text::{KeptConstant, OperatorText},
};

/// What the template that copies them speaks of.
#[derive(Serialize)]
pub(crate) struct TablesWords<'a> {
    /// Tables that are known when a kernel is launched, and the bytes that they take.
    tables: Vec<TableWords>,
    bytes: u32,
    /// Tables that are constants.
    constants: &'a [KeptConstant],
    /// Threads of a block.
    threads: u32,
}

impl Words for TablesWords<'_> {
    const ROOM: Room = Room::Tables;
}

impl<'a> TablesWords<'a> {
    pub(crate) fn new(operator: &OpSource, text: &'a OperatorText, threads: u32) -> Self {
        let (tables, bytes) = TableWords::of(operator);
        TablesWords { tables, bytes, constants: &text.kept_constants, threads }
    }
}

/// A table of the operator that is kept in shared memory.
#[derive(Serialize)]
struct TableWords {
    /// The fields that lead to it.
    path: String,
    /// Where its items begin in the memory for tables.
    offset: u32,
    /// In what units it is copied, and how many an item has.
    unit: &'static str,
    units: usize,
}

impl TableWords {
    /// All tables of an operator, and the bytes that they take.
    fn of(operator: &OpSource) -> (Vec<Self>, u32) {
        let mut end = 0;
        let tables = operator.parameters.iter().flat_map(ElementType::short_tables);
        let words = |(path, item, short): (Vec<&str>, &ElementType, ShortTable)| {
            let offset = end;
            end += short.room;
            let word = WORD as usize;
            let (unit, bytes) = if item.size.is_multiple_of(word) { ("unsigned", word) } else { ("unsigned char", 1) };
            let path = path.into_iter().map(variable).collect::<Vec<_>>().join(".");
            TableWords { path, offset, unit, units: item.size / bytes }
        };
        (tables.map(words).collect(), end)
    }
}
