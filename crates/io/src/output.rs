//! Atomic output files: written under a temporary name in the same folder, then renamed.

use crate::IoError;
use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file being written. Dropped before [`WholeFile::finish`], it leaves nothing behind.
#[derive(Debug)]
pub struct WholeFile {
    path: PathBuf,
    temp: BufWriter<Temporary>,
}

/// The file under its temporary name. Errors of writing are those of the system, without that name, which
/// would mean nothing to people.
#[derive(Debug)]
struct Temporary(tempfile::NamedTempFile);

impl Write for Temporary {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.as_file_mut().flush()
    }
}

impl Seek for Temporary {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.0.as_file_mut().seek(to)
    }
}

impl WholeFile {
    /// Starts a file that will appear at `path`; missing folders are created.
    pub fn create(path: &Path) -> Result<Self, IoError> {
        let os = |source| IoError::Os { path: path.to_path_buf(), source };
        let folder = folder_of(path)?;
        let mut builder = tempfile::Builder::new();
        // Temporary files are private; this one gets the permissions that a plain `create` would give.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let temp = builder.prefix(".risorius-").tempfile_in(folder).map_err(os)?;
        Ok(Self { path: path.to_path_buf(), temp: BufWriter::with_capacity(1 << 20, Temporary(temp)) })
    }

    /// Makes the file appear under its name, replacing an older one.
    pub fn finish(self) -> Result<(), IoError> {
        let path = self.path;
        let os = |source| IoError::Os { path: path.clone(), source };
        let temp = self.temp.into_inner().map_err(|e| os(e.into_error()))?;
        temp.0.persist(&path).map_err(|e| os(e.error))?;
        Ok(())
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.temp.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.temp.flush()
    }
}

impl Seek for WholeFile {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.temp.seek(to)
    }
}

/// An unnamed temporary file on the disk of `path`, for data that is copied into the file at `path` in the
/// end. The system removes it when it is closed.
pub fn scratch_beside(path: &Path) -> Result<File, IoError> {
    let folder = folder_of(path)?;
    tempfile::tempfile_in(folder).map_err(|source| IoError::Os { path: path.to_path_buf(), source })
}

/// The folder of a file; it is created if it is missing.
fn folder_of(path: &Path) -> Result<&Path, IoError> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|e| {
        let problem = format!("the folder cannot be created: {e}");
        IoError::Os { path: folder.to_path_buf(), source: std::io::Error::new(e.kind(), problem) }
    })?;
    Ok(folder)
}

/// Writes `bytes` to `path` atomically.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), IoError> {
    let mut file = WholeFile::create(path)?;
    file.write_all(bytes).map_err(|source| IoError::Os { path: path.to_path_buf(), source })?;
    file.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_files_leave_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sub/out.bin");
        let mut file = WholeFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
        write_whole(&path, b"whole").unwrap();
        write_whole(&path, b"again").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"again");
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }
}
