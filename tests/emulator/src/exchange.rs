//! Instructions that a warp executes together: each lane brings a value and takes one of another lane.

// The instructions. Also in the host prelude, where 0 is `SYNC`, which brings nothing.
const SHUFFLE: u32 = 1;
const SHUFFLE_UP: u32 = 2;
const SHUFFLE_DOWN: u32 = 3;
const SHUFFLE_XOR: u32 = 4;
const BALLOT: u32 = 5;

/// Executes one instruction for all lanes, in their order: instruction, argument, size and place of the value. A lane that
/// asks for one that does not exist keeps its own value, as on the hardware.
///
/// # Safety
///
/// Each place is valid for reading and writing as many bytes as its size says.
pub(super) unsafe fn execute(lanes: &[(u32, u32, u32, *mut u8)]) {
    let mut brought = Vec::with_capacity(lanes.iter().map(|lane| lane.2 as usize).sum());
    let mut mask = 0_u32;
    for (lane, &(_, _, size, place)) in lanes.iter().enumerate().filter(|(_, lane)| lane.2 > 0) {
        // SAFETY: the caller vouches for the place.
        let value = unsafe { std::slice::from_raw_parts(place, size as usize) };
        mask |= u32::from(value.iter().any(|&byte| byte != 0)) << lane;
        brought.extend_from_slice(value);
    }
    for (lane, &(what, argument, size, place)) in lanes.iter().enumerate().filter(|(_, lane)| lane.2 > 0) {
        // SAFETY: as above, and the slices before are gone.
        let value = unsafe { std::slice::from_raw_parts_mut(place, size as usize) };
        let argument = argument as usize;
        let source = match what {
            SHUFFLE => Some(argument % 32),
            SHUFFLE_UP => lane.checked_sub(argument),
            SHUFFLE_DOWN => lane.checked_add(argument),
            SHUFFLE_XOR => Some(lane ^ argument),
            BALLOT => {
                value.copy_from_slice(&mask.to_le_bytes());
                None
            }
            _ => None, // SYNC: nobody brings anything
        };
        // All lanes execute one instruction, of one size.
        if let Some(source) = source.and_then(|source| brought.chunks_exact(value.len()).nth(source)) {
            value.copy_from_slice(source);
        }
    }
}
