//! The order in which pieces pass through a few slots of page-locked memory.

use crate::Error;

/// The number of slots. One is filled or emptied while another's transfer is in progress, and transfers wait for
/// neither.
pub(super) const SLOTS: usize = 4;
/// The overhead of smaller pieces exceeds the latency that they hide.
const MIN_PIECE: usize = 256 << 10;

/// Moves pieces through the slots.
pub(super) trait Transfers {
    /// Copies between a slot and its place in the caller's memory.
    fn copy(&mut self, slot: usize, piece: Piece);
    /// Begins the transfer between a slot and the device.
    fn transfer(&mut self, slot: usize, piece: Piece) -> Result<(), Error>;
    /// Waits for a slot's last transfer.
    fn wait(&mut self, slot: usize) -> Result<(), Error>;
}

/// A part of the bytes that are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) offset: usize,
    pub(super) bytes: usize,
}

/// The length of all pieces but perhaps the last. Even a copy of moderate length has several.
pub(super) fn piece_bytes(bytes: usize, max: usize) -> usize {
    bytes.div_ceil(SLOTS).next_multiple_of(4096).clamp(MIN_PIECE.min(max), max)
}

fn pieces(bytes: usize, length: usize) -> impl Iterator<Item = (usize, Piece)> {
    let piece = move |offset| Piece { offset, bytes: length.min(bytes - offset) };
    (0..bytes).step_by(length.max(1)).map(piece).enumerate()
}

/// Moves bytes to the device. On return, transfers from the slots may still be in progress.
pub(super) fn send(bytes: usize, length: usize, transfers: &mut impl Transfers) -> Result<(), Error> {
    for (index, piece) in pieces(bytes, length) {
        let slot = index % SLOTS;
        if index >= SLOTS {
            transfers.wait(slot)?;
        }
        transfers.copy(slot, piece);
        transfers.transfer(slot, piece)?;
    }
    Ok(())
}

/// Moves bytes from the device. All of them have arrived on return, and the slots are free.
pub(super) fn receive(bytes: usize, length: usize, transfers: &mut impl Transfers) -> Result<(), Error> {
    let mut ahead = pieces(bytes, length);
    for (slot, piece) in ahead.by_ref().take(SLOTS) {
        transfers.transfer(slot, piece)?;
    }
    for (index, piece) in pieces(bytes, length) {
        let slot = index % SLOTS;
        transfers.wait(slot)?;
        transfers.copy(slot, piece);
        if let Some((_, next)) = ahead.next() {
            transfers.transfer(slot, next)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moves bytes as late as possible: a transfer takes place in the wait for it.
    struct Late {
        from: Vec<u8>,
        to: Vec<u8>,
        sends: bool,
        slots: Vec<Vec<u8>>,
        under_way: [Option<Piece>; SLOTS],
        fails_at: usize,
    }

    impl Late {
        fn new(bytes: usize, length: usize, sends: bool) -> Self {
            let from = (0..bytes).map(|i| (i * 7 + i / 256) as u8).collect();
            let slots = vec![vec![0xEE; length]; SLOTS];
            Late { from, to: vec![0; bytes], sends, slots, under_way: [None; SLOTS], fails_at: usize::MAX }
        }
    }

    impl Transfers for Late {
        fn copy(&mut self, slot: usize, Piece { offset, bytes }: Piece) {
            assert!(self.under_way[slot].is_none(), "a slot is touched while its transfer is under way");
            if self.sends {
                self.slots[slot][..bytes].copy_from_slice(&self.from[offset..][..bytes]);
            } else {
                self.to[offset..][..bytes].copy_from_slice(&self.slots[slot][..bytes]);
            }
        }
        fn transfer(&mut self, slot: usize, piece: Piece) -> Result<(), Error> {
            assert!(self.under_way[slot].replace(piece).is_none(), "two transfers of one slot");
            Ok(())
        }
        fn wait(&mut self, slot: usize) -> Result<(), Error> {
            if self.fails_at == 0 {
                return Err(Error::OutOfHostMemory { bytes: 0 });
            }
            self.fails_at -= 1;
            let Some(Piece { offset, bytes }) = self.under_way[slot].take() else { return Ok(()) };
            if self.sends {
                self.to[offset..][..bytes].copy_from_slice(&self.slots[slot][..bytes]);
            } else {
                self.slots[slot][..bytes].copy_from_slice(&self.from[offset..][..bytes]);
            }
            Ok(())
        }
    }

    #[test]
    fn all_bytes_arrive_however_late_transfers_are() {
        for length in [1, 3, 64] {
            for bytes in (0..40).chain([64, 65, 255, 256, 257, 1000]) {
                for sends in [true, false] {
                    let mut transfers = Late::new(bytes, length, sends);
                    if sends {
                        send(bytes, length, &mut transfers).unwrap();
                        (0..SLOTS).for_each(|slot| transfers.wait(slot).unwrap());
                    } else {
                        receive(bytes, length, &mut transfers).unwrap();
                        assert_eq!(transfers.under_way, [None; SLOTS]);
                    }
                    assert!(transfers.from == transfers.to, "{bytes} in pieces of {length}, sent {sends}");
                }
            }
        }
    }

    #[test]
    fn an_error_ends_the_transfer() {
        for fails_at in 0..10 {
            for sends in [true, false] {
                let mut transfers = Late { fails_at, ..Late::new(64, 4, sends) };
                let outcome = if sends { send(64, 4, &mut transfers) } else { receive(64, 4, &mut transfers) };
                assert!(outcome.is_err());
            }
        }
    }

    #[test]
    fn pieces_are_neither_tiny_nor_too_long() {
        let lengths = [1, 300 << 10, 2 << 20, 1 << 30].map(|bytes| piece_bytes(bytes, 4 << 20));
        assert_eq!(lengths, [256 << 10, 256 << 10, 512 << 10, 4 << 20]);
        assert_eq!(piece_bytes(1 << 30, 1000), 1000);
    }
}
