//! What a cubin tells of its kernels, without a disassembler.

use object::{Object, ObjectSection, SectionKind};

/// What a cubin holds.
pub struct Cubin {
    /// The most registers of a thread.
    pub registers: u32,
    /// The most bytes of local memory of a thread.
    pub local_bytes: u32,
    /// Bytes of machine code.
    pub code_bytes: usize,
    /// Of the machine code, constants, and sizes of variables.
    pub hash: blake3::Hash,
}

impl Cubin {
    /// Reads a cubin.
    ///
    /// # Errors
    ///
    /// What is wrong with a file that is none.
    pub fn read(cubin: &[u8]) -> Result<Self, String> {
        let file = object::File::parse(cubin).map_err(|error| error.to_string())?;
        let mut sections: Vec<_> =
            file.sections().filter_map(|section| Some((section.name().ok()?.to_owned(), section))).collect();
        sections.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut hash = blake3::Hasher::new();
        let (mut code_bytes, mut registers, mut local_bytes) = (0, 0, 0);
        for (name, section) in &sections {
            let data = section.data().map_err(|error| error.to_string())?;
            match name.as_str() {
                text if text.starts_with(".text.") => {
                    code_bytes += data.len();
                    hash.update(data);
                }
                // The fourth bank holds addresses of variables, which the linker fills in.
                constants if constants.starts_with(".nv.constant") && constants != ".nv.constant4" => {
                    hash.update(data);
                }
                ".nv.info" => {
                    registers = registers.max(largest_attribute(data, REGISTER_COUNT));
                    local_bytes = local_bytes.max(largest_attribute(data, FRAME_SIZE));
                }
                _ if section.kind() == SectionKind::UninitializedData => {
                    hash.update(&section.size().to_le_bytes());
                }
                _ => {}
            }
        }
        Ok(Cubin { registers, local_bytes, code_bytes, hash: hash.finalize() })
    }
}

/// Attributes of functions in a cubin's section `.nv.info`.
const REGISTER_COUNT: u8 = 0x2f;
const FRAME_SIZE: u8 = 0x11;

/// The largest value of an attribute: entries of a format, an attribute, a size and, for these two, a symbol and a number.
fn largest_attribute(info: &[u8], attribute: u8) -> u32 {
    let (mut largest, mut rest) = (0, info);
    while let [format, of, low, high, following @ ..] = rest {
        const SIZED: u8 = 4;
        let size = if *format == SIZED { usize::from(u16::from_le_bytes([*low, *high])) } else { 0 };
        let Some((value, next)) = following.split_at_checked(size) else { break };
        if *of == attribute
            && let [_, _, _, _, a, b, c, d] = *value
        {
            largest = largest.max(u32::from_le_bytes([a, b, c, d]));
        }
        rest = next;
    }
    largest
}
