//! The rooms of the templates.
//!
//! A room is some templates that read the same words. It chooses among them: they define the same functions, whichever
//! is chosen. One struct has its words, which templates read by the room's name: `{{ heads.offset }}`. A template sees
//! the words of its room, the [types] and, where the room has kernels, what all [kernels](kernel) begin with; a
//! word of another room is an error.

use std::collections::BTreeMap;

use serde::Serialize;
use tera::{Context, Value};

use crate::error::RenderError;

pub(crate) mod algebra;
pub(crate) mod arrays;
pub(crate) mod block;
pub(crate) mod carry;
pub(crate) mod heads;
pub(crate) mod intrinsics;
pub(crate) mod kernel;
pub(crate) mod layout;
pub(crate) mod pipeline;
pub(crate) mod runs;
pub(crate) mod stage;
pub(crate) mod start;
pub(crate) mod tables;
pub(crate) mod tile;
pub(crate) mod types;

/// A room of the templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Room {
    Arrays,
    Block,
    Carry,
    Columns,
    Heading,
    Heads,
    Kernel,
    LastResults,
    Layout,
    Intrinsics,
    Order,
    Pipeline,
    Reduce,
    Runs,
    Stage,
    Status,
    Tables,
    Tile,
    Types,
    Value,
}

impl Room {
    /// The name by which templates read its words.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Room::Arrays => "arrays",
            Room::Block => "block",
            Room::Carry => "carry",
            Room::Columns => "columns",
            Room::Heading => "heading",
            Room::Heads => "heads",
            Room::Kernel => "kernel",
            Room::LastResults => "last_results",
            Room::Layout => "layout",
            Room::Intrinsics => "intrinsics",
            Room::Order => "order",
            Room::Pipeline => "pipeline",
            Room::Reduce => "reduce",
            Room::Runs => "runs",
            Room::Stage => "stage",
            Room::Status => "status",
            Room::Tables => "tables",
            Room::Tile => "tile",
            Room::Types => "types",
            Room::Value => "value",
        }
    }

    /// The rooms whose words its templates read: its own, the types and, where it has kernels, what those begin with.
    pub(crate) fn reads(self) -> impl Iterator<Item = Room> {
        use Room::*;
        let has_kernels = matches!(self, Carry | Columns | LastResults | Pipeline | Reduce);
        [self, Types].into_iter().chain(has_kernels.then_some(Kernel))
    }
}

/// The words of a room.
pub(crate) trait Words: Serialize {
    const ROOM: Room;
}

/// The words of the rooms of a text.
#[derive(Default)]
pub(crate) struct Rooms(BTreeMap<Room, Value>);

impl Rooms {
    pub(crate) fn with<W: Words>(mut self, words: &W) -> Result<Self, RenderError> {
        self.0.insert(W::ROOM, Value::try_from_serializable(words)?);
        Ok(self)
    }

    /// What the templates of a room see.
    pub(crate) fn context_of(&self, room: Room) -> Context {
        let mut context = Context::new();
        for room in room.reads() {
            if let Some(words) = self.0.get(&room) {
                context.insert_value(room.name(), words.clone());
            }
        }
        context
    }

    #[cfg(test)]
    pub(crate) fn words(&self) -> impl Iterator<Item = (Room, &Value)> {
        self.0.iter().map(|(room, words)| (*room, words))
    }
}
