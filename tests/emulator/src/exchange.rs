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
    // SAFETY: the caller vouches for the places.
    let values: Vec<&mut [u8]> = lanes
        .iter()
        .filter(|lane| lane.2 > 0)
        .map(|lane| unsafe { std::slice::from_raw_parts_mut(lane.3, lane.2 as usize) })
        .collect();
    let brought: Vec<Vec<u8>> = values.iter().map(|value| value.to_vec()).collect();
    let mask = brought
        .iter()
        .enumerate()
        .fold(0_u32, |mask, (lane, value)| if value.iter().any(|&byte| byte != 0) { mask | 1 << lane } else { mask });
    for (lane, value) in values.into_iter().enumerate() {
        let (what, argument, _, _) = lanes[lane];
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
        if let Some(source) = source.and_then(|source| brought.get(source)) {
            value.copy_from_slice(source);
        }
    }
}
