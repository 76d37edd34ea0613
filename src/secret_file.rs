//! Secrets that stand in a file of their own: one secret, nothing else.
//!
//! A relative name is looked up among systemd's credentials first (`LoadCredential=`), then as a path. Nothing here
//! keeps a secret or says what it is for.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

/// Bits of a file's mode that would let strangers read it, or anybody but its owner change it.
const TOO_OPEN: u32 = 0o027;

/// Longest secret, in bytes.
const MAX_BYTES: usize = 4096;

/// Reads the secret at `path`, without the line end behind it.
///
/// # Errors
/// The file cannot be read, is empty or longer than 4096 bytes, or can be read by everybody. The file is named.
pub fn read(path: &Path) -> io::Result<SecretString> {
    read_from(credentials().as_deref(), path)
}

/// The directory of systemd's credentials, where there is one.
pub fn credentials() -> Option<PathBuf> {
    std::env::var_os("CREDENTIALS_DIRECTORY").filter(|dir| !dir.is_empty()).map(PathBuf::from)
}

/// As [`read`], with the directory of credentials given.
pub fn read_from(credentials: Option<&Path>, path: &Path) -> io::Result<SecretString> {
    let credential = credentials.filter(|_| path.is_relative()).map(|dir| dir.join(path));
    let (file, is_credential) = match credential {
        Some(credential) if credential.exists() => (credential, true),
        Some(_) | None => (path.to_owned(), false),
    };
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", file.display()));
    // The service manager guards its credentials by its own means, which the mode does not show.
    if !is_credential {
        let mode = std::fs::metadata(&file).map_err(named)?.permissions().mode() & 0o777;
        if mode & TOO_OPEN != 0 {
            let message = format!("has mode {mode:o}; a secret must not be open to others: chmod 600");
            return Err(named(io::Error::new(io::ErrorKind::PermissionDenied, message)));
        }
    }
    let text = std::fs::read_to_string(&file).map_err(named)?;
    let secret = text.trim_end_matches(['\r', '\n']);
    if secret.is_empty() || secret.len() > MAX_BYTES {
        let message = format!("holds {} bytes; expected 1 to {MAX_BYTES}", secret.len());
        return Err(named(io::Error::new(io::ErrorKind::InvalidData, message)));
    }
    Ok(SecretString::from(secret.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;

    fn write(path: &Path, text: &str, mode: u32) {
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn b46_a_secret_that_others_can_read_is_refused_and_the_file_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("code");
        for (text, mode, good) in [
            ("1234\n", 0o600, true),
            ("1234", 0o640, true),
            ("1234", 0o644, false),
            ("1234", 0o660, false),
            ("", 0o600, false),
        ] {
            write(&file, text, mode);
            let read = read_from(None, &file);
            assert_eq!(read.is_ok(), good, "{text:?} {mode:o}");
            match read {
                Ok(secret) => assert_eq!(secret.expose_secret(), "1234"),
                Err(error) => assert!(error.to_string().contains("/code: "), "{error}"),
            }
        }
        assert!(read_from(None, &dir.path().join("none")).is_err());
    }

    #[test]
    fn a_credential_of_that_name_comes_before_a_file() {
        let dir = tempfile::tempdir().unwrap();
        write(&dir.path().join("mqtt"), "from systemd", 0o644);
        let read = read_from(Some(dir.path()), Path::new("mqtt")).unwrap();
        assert_eq!(read.expose_secret(), "from systemd");
        assert!(read_from(Some(dir.path()), Path::new("/nonexistent/mqtt")).is_err());
    }
}
