//! The doors to inline assembly and intrinsics.

use serde::Serialize;

use super::{Room, Words};

/// What its templates speak of.
#[derive(Serialize)]
pub(crate) struct IntrinsicsWords {
    /// A call before what follows in the line, and one in a line of its own, of a wait for a pseudo-random time: none
    /// but in tests.
    delay: &'static str,
    delay_after: &'static str,
    /// The polls after which a block has waited for long.
    long_wait: &'static str,
    /// Words of the value in a packet of a tile status.
    packet_payload: u64,
    /// A type of as many bytes as a packet, and the letter by which inline assembly takes it.
    packet_word: &'static str,
    packet_letter: &'static str,
}

impl Words for IntrinsicsWords {
    const ROOM: Room = Room::Intrinsics;
}

impl IntrinsicsWords {
    /// `delays` is whether threads wait at random where they communicate, `packet_payload` how many words of a value a
    /// packet has.
    pub(crate) fn new(delays: bool, packet_payload: u64) -> Self {
        let (delay, delay_after, long_wait) =
            if delays { ("delay(); ", "  delay();\n", "1 << 5") } else { ("", "", "1 << 13") };
        let (packet_word, packet_letter) =
            if packet_payload == 1 { ("unsigned long long", "l") } else { ("unsigned __int128", "q") };
        IntrinsicsWords { delay, delay_after, long_wait, packet_payload, packet_word, packet_letter }
    }
}
