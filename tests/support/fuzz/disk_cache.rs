//! Random histories of a cache's folder: entries that are stored, damaged, cut short, swapped and forged, among files of others
//! with hostile names. Never is anything loaded but what was stored under that name, and never is a file of others touched.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use scan_runtime::DiskCache;

use super::of_case;
use crate::emulated::Random;

/// Names under which entries are stored, few, so that they meet.
const NAMES: usize = 4;
/// How an entry is laid out: the magic, its name, the length of what was stored, that, and a checksum over all of it.
const MAGIC: &[u8] = b"SCANCUB1";
const HEAD: usize = 8 + 32 + 8;
const CHECKSUM: usize = 32;

/// What ought to be true of a folder.
struct World {
    cache: DiskCache,
    /// What has ever been stored under each name.
    stored: BTreeMap<usize, Vec<Vec<u8>>>,
    /// Files of others, and what they hold; `None` of what is no file.
    foreign: BTreeMap<PathBuf, Option<Vec<u8>>>,
    outside: PathBuf,
    history: Vec<String>,
}

/// Runs the case of a number.
pub fn case(number: u64) -> Result<bool, String> {
    let mut random = of_case(number);
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    let names = ["cache", "a folder", "line\nbreak", "x.cubin", "-rf", "größer"];
    let folder = place.path().join(names[random.below(names.len())]);
    let outside = place.path().join("outside");
    fs::create_dir(&outside).map_err(|error| error.to_string())?;
    let limit = if random.one_in(2) { 1 << 20 } else { random.below(3_000) as u64 };
    let mut world = World {
        cache: DiskCache::at(folder).with_limit(limit),
        stored: BTreeMap::new(),
        foreign: BTreeMap::new(),
        outside,
        history: vec![format!("limit {limit}")],
    };
    for _ in 0..4 + random.below(24) {
        let step = super::caught(|| world.step(&mut random)).unwrap_or_else(Err);
        step.and_then(|()| world.check())
            .map_err(|message| format!("{message}\nafter: {}", world.history.join("; ")))?;
    }
    Ok(true)
}

fn key(name: usize) -> [u8; 32] {
    *blake3::hash(&name.to_le_bytes()).as_bytes()
}

fn file_name(name: usize) -> String {
    format!("{}.cubin", blake3::Hash::from_bytes(key(name)).to_hex())
}

impl World {
    fn path(&self, name: usize) -> PathBuf {
        self.cache.folder().join(file_name(name))
    }

    fn step(&mut self, random: &mut Random) -> Result<(), String> {
        let name = random.below(NAMES);
        let choice = random.below(12);
        self.history.push(format!("{choice} on {name}"));
        match choice {
            0..4 => self.store(random, name),
            4..8 => self.damage(random, name),
            8 | 9 => self.add_foreign(random),
            10 => {
                self.cache.clear().map_err(|error| format!("clear: {error}"))?;
                let left = self.cache.entries().map_err(|error| error.to_string())?;
                if left == 0 { Ok(()) } else { Err(format!("{left} entries after all have been removed")) }
            }
            _ => Ok(()),
        }
    }

    fn store(&mut self, random: &mut Random, name: usize) -> Result<(), String> {
        let bytes: Vec<u8> = (0..random.below(900)).map(|_| random.bits() as u8).collect();
        // A folder, which nobody of ours has made, may stand in the place.
        let blocked = self.path(name).symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        if self.cache.store_named(key(name), &bytes) == blocked {
            return Err(format!("stored: {}", !blocked));
        }
        self.foreign.remove(&self.path(name)); // a link in its place is replaced
        if blocked {
            self.foreign.insert(self.path(name), None);
            return Ok(());
        }
        let size = self.cache.size().map_err(|error| error.to_string())?;
        if size > self.cache.limit() {
            return Err(format!("{size} bytes, and {} are the limit", self.cache.limit()));
        }
        let found = self.cache.load_named(key(name));
        let fits = (HEAD + bytes.len() + CHECKSUM) as u64 <= self.cache.limit();
        if found.as_ref() != fits.then_some(&bytes) {
            return Err("what has just been stored is not there".to_owned());
        }
        self.stored.entry(name).or_default().push(bytes);
        Ok(())
    }

    /// Does something to the file of an entry that is there.
    fn damage(&mut self, random: &mut Random, name: usize) -> Result<(), String> {
        let path = self.path(name);
        if self.foreign.contains_key(&path) {
            return Ok(());
        }
        let Ok(whole) = fs::read(&path) else { return Ok(()) };
        let mut bytes = whole.clone();
        match random.below(8) {
            0 => {
                let at = random.below(bytes.len());
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
            1 => bytes.truncate(random.below(bytes.len())),
            2 => bytes.extend((0..1 + random.below(100)).map(|_| random.bits() as u8)),
            3 => bytes = (0..random.below(300)).map(|_| random.bits() as u8).collect(),
            4 => bytes = sealed(&key(name + NAMES), b"of another name", 15),
            5 => bytes = sealed(&key(name), b"of another length", random.bits()),
            6 => {
                // Whole, and of another format.
                bytes = sealed(&key(name), b"of another format", 17);
                bytes[random.below(8)] ^= 1 << random.below(8);
                let end = bytes.len() - CHECKSUM;
                let checksum = blake3::hash(&bytes[..end]);
                bytes[end..].copy_from_slice(checksum.as_bytes());
            }
            _ => {
                let other = self.path((name + 1) % NAMES);
                if !self.foreign.contains_key(&other) && other.is_file() {
                    fs::rename(&path, self.outside.join("swapped")).map_err(|error| error.to_string())?;
                    fs::rename(&other, &path).map_err(|error| error.to_string())?;
                    return fs::rename(self.outside.join("swapped"), other).map_err(|error| error.to_string());
                }
            }
        }
        fs::write(path, bytes).map_err(|error| error.to_string())
    }

    /// Puts something there that is of no cache.
    fn add_foreign(&mut self, random: &mut Random) -> Result<(), String> {
        let hash = blake3::Hash::from_bytes(key(100 + random.below(3))).to_hex().to_string();
        let names: [OsString; 14] = [
            format!("{hash}.cubin").into(),
            format!("{}.cubin", hash.to_uppercase()).into(),
            format!("{hash}.cubin ").into(),
            format!("{hash}0.cubin").into(),
            format!("{}.cubin", &hash[1..]).into(),
            format!("{hash}.cubin.unfinished").into(),
            ".cubin".into(),
            "x.cubin".into(),
            "..cubin".into(),
            "line\n.cubin".into(),
            ".unfinished-".into(),
            ".unfinished-../../x".replace('/', "_").into(),
            "x".repeat(249).into(),
            not_unicode(),
        ];
        let name = &names[random.below(names.len())];
        let wrong = |error: std::io::Error| error.to_string();
        fs::create_dir_all(self.cache.folder()).map_err(wrong)?;
        private(self.cache.folder()).map_err(wrong)?;
        let path = self.cache.folder().join(name);
        if path.symlink_metadata().is_ok() {
            return Ok(());
        }
        let content = sealed(&key(random.below(NAMES)), b"somebody's", 10);
        let entry_name = *name == names[0];
        match random.below(4) {
            0 => fs::create_dir(&path).map_err(wrong)?,
            #[cfg(unix)]
            1 => {
                let target = self.outside.join(format!("file {}", self.foreign.len()));
                fs::write(&target, &content).map_err(wrong)?;
                std::os::unix::fs::symlink(&target, &path).map_err(wrong)?;
                self.foreign.insert(target, Some(content.clone()));
            }
            // What begins as an entry does under the name of one is one.
            _ if entry_name => fs::write(&path, b"somebody's").map_err(wrong)?,
            _ => fs::write(&path, &content).map_err(wrong)?,
        }
        let content = path.is_file().then(|| fs::read(&path)).transpose().map_err(wrong)?;
        self.foreign.insert(path, content);
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        for (path, content) in &self.foreign {
            let there = path.symlink_metadata().is_ok();
            let same = content.as_ref().is_none_or(|content| fs::read(path).is_ok_and(|found| found == *content));
            if !there || !same {
                return Err(format!("{path:?} of others has been touched"));
            }
        }
        for name in 0..NAMES + 2 {
            let known = self.stored.get(&name).map_or(&[][..], Vec::as_slice);
            if let Some(found) = self.cache.load_named(key(name))
                && !known.contains(&found)
            {
                return Err(format!("{name} gives what was never stored: {found:?}"));
            }
        }
        self.cache.entries().map_err(|error| format!("entries: {error}"))?;
        Ok(())
    }
}

/// An entry with a name and a length of any kind, and the checksum that goes with them.
fn sealed(name: &[u8; 32], bytes: &[u8], length: u64) -> Vec<u8> {
    let mut entry = [MAGIC, name, &length.to_le_bytes(), bytes].concat();
    entry.extend_from_slice(blake3::hash(&entry).as_bytes());
    entry
}

#[cfg(unix)]
fn not_unicode() -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(b"\xff\xfe.cubin".to_vec())
}

#[cfg(not(unix))]
fn not_unicode() -> OsString {
    "other.cubin".into()
}

/// A folder that the cache has not made itself is used where nobody else may write to it.
fn private(folder: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}
