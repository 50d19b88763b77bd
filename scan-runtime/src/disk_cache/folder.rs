//! The folder of a cache, opened once: all files are listed, read and removed in it, even if its path changes
//! meanwhile.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, Metadata},
    io,
    path::Path,
    time::SystemTime,
};

use super::{check_owner, check_user};

/// An open folder.
pub(super) struct Folder {
    /// The metadata of its path: of the folder itself, or of a link to it.
    link: Metadata,
    open: Open,
}

impl Folder {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Folder { link: fs::symlink_metadata(path)?, open: Open::at(path)? })
    }

    /// Checks that no other user can have written the entries, nor the link to the folder, if there is one.
    pub(super) fn check(&self) -> io::Result<()> {
        if self.link.is_symlink() {
            // The permissions of a link have no meaning.
            check_user(&self.link)?;
        }
        check_owner(&self.open.metadata()?)
    }

    /// Whether this process cannot add files to it.
    pub(super) fn is_read_only(&self) -> bool {
        self.open.is_read_only()
    }

    /// The names of everything in it.
    pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
        self.open.names()
    }

    /// The regular file with this name, opened for reading; `None` for anything else: a link, a folder, a pipe.
    pub(super) fn file(&self, name: &OsStr) -> io::Result<Option<(File, Metadata)>> {
        let Some(file) = self.open.file(name)? else { return Ok(None) };
        let metadata = file.metadata()?;
        Ok(metadata.is_file().then_some((file, metadata)))
    }

    /// Marks a file as used now.
    pub(super) fn mark_as_used(&self, name: &OsStr, file: &File) -> io::Result<()> {
        self.open.set_modified(name, file, SystemTime::now())
    }

    /// Removes a file that may be gone already.
    pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
        match self.open.remove(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(unix)]
use by_handle::Open;

#[cfg(unix)]
mod by_handle {
    use std::{
        ffi::{OsStr, OsString},
        fs::{File, Metadata},
        io,
        os::unix::ffi::OsStringExt,
        path::Path,
        time::SystemTime,
    };

    use rustix::{
        fs::{Access, AtFlags, Dir, Mode, OFlags, accessat, openat, unlinkat},
        io::Errno,
    };

    pub(super) struct Open(File);

    impl Open {
        pub(super) fn at(path: &Path) -> io::Result<Self> {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            Ok(Open(rustix::fs::open(path, flags, Mode::empty())?.into()))
        }

        pub(super) fn metadata(&self) -> io::Result<Metadata> {
            self.0.metadata()
        }

        pub(super) fn is_read_only(&self) -> bool {
            accessat(&self.0, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS).is_err()
        }

        pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
            let mut names = Vec::new();
            for entry in Dir::read_from(&self.0)? {
                let name = OsString::from_vec(entry?.file_name().to_bytes().to_vec());
                if name != "." && name != ".." {
                    names.push(name);
                }
            }
            Ok(names)
        }

        /// Follows no link, and does not block if the name is that of a pipe.
        pub(super) fn file(&self, name: &OsStr) -> io::Result<Option<File>> {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            match openat(&self.0, name, flags, Mode::empty()) {
                Ok(file) => Ok(Some(file.into())),
                // A link.
                Err(Errno::LOOP) => Ok(None),
                Err(error) => Err(error.into()),
            }
        }

        pub(super) fn set_modified(&self, _name: &OsStr, file: &File, time: SystemTime) -> io::Result<()> {
            file.set_modified(time)
        }

        pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
            Ok(unlinkat(&self.0, name, AtFlags::empty())?)
        }
    }
}

#[cfg(not(unix))]
use by_path::Open;

/// For systems where files are accessed by their paths only.
#[cfg(not(unix))]
mod by_path {
    use std::{
        ffi::{OsStr, OsString},
        fs::{self, File, Metadata},
        io,
        path::{Path, PathBuf},
        time::SystemTime,
    };

    pub(super) struct Open(PathBuf);

    impl Open {
        pub(super) fn at(path: &Path) -> io::Result<Self> {
            if fs::metadata(path)?.is_dir() {
                Ok(Open(path.to_owned()))
            } else {
                Err(io::Error::other("it is no folder"))
            }
        }

        pub(super) fn metadata(&self) -> io::Result<Metadata> {
            fs::metadata(&self.0)
        }

        pub(super) fn is_read_only(&self) -> bool {
            self.metadata().is_ok_and(|metadata| metadata.permissions().readonly())
        }

        pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
            self.0.read_dir()?.map(|entry| Ok(entry?.file_name())).collect()
        }

        pub(super) fn file(&self, name: &OsStr) -> io::Result<Option<File>> {
            let path = self.0.join(name);
            if fs::symlink_metadata(&path)?.is_file() { File::open(path).map(Some) } else { Ok(None) }
        }

        pub(super) fn set_modified(&self, name: &OsStr, _file: &File, time: SystemTime) -> io::Result<()> {
            File::options().append(true).open(self.0.join(name))?.set_modified(time)
        }

        pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
            fs::remove_file(self.0.join(name))
        }
    }
}
