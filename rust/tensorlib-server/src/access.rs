//! Who may use the server.

use crate::error::{ApiError, Result};
use axum::http::{header, HeaderMap};
use sha2::{Digest, Sha256};
use std::fmt;
use std::net::IpAddr;
use subtle::{Choice, ConstantTimeEq};

/// Keys, of which a request must have one: `Authorization: Bearer KEY`.
#[derive(Clone, Default)]
pub struct Keys {
    /// Digests have one length, so that comparing them tells nothing about keys.
    digests: Vec<[u8; 32]>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({})", self.digests.len())
    }
}

impl Keys {
    /// The keys of a text, one per line. Blank lines and lines that begin with `#` are none.
    ///
    /// # Errors
    /// The number of a line with characters that no header can have, and a text without a key.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let mut digests = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let key = line.trim();
            if key.is_empty() || key.starts_with('#') {
                continue;
            }
            if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(format!("line {}: a key is made of ASCII characters without spaces", i + 1));
            }
            digests.push(digest(key));
        }
        match digests.is_empty() {
            true => Err("has no key: one per line is expected".into()),
            false => Ok(Keys { digests }),
        }
    }

    /// Whether no key is needed.
    pub fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    /// Refuses a request without a valid key. How long that takes does not depend on how much of a key is right.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given = given.ok_or_else(|| ApiError::key("no key: send the header 'Authorization: Bearer KEY'"))?;
        let (scheme, key) = given.split_once(' ').unwrap_or((given, ""));
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(ApiError::key("the header Authorization has no key: 'Bearer KEY' is valid"));
        }
        let given = digest(key.trim());
        let found = self.digests.iter().fold(Choice::from(0), |found, key| found | key.ct_eq(&given));
        match bool::from(found) {
            true => Ok(()),
            false => Err(ApiError::key("the key is none of this server's")),
        }
    }
}

fn digest(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

/// Refuses requests that a web page elsewhere makes a browser send: those under a name that is not the server's, and
/// those from another origin. Servers with keys need no such check, because pages do not know these.
pub fn check_origin(headers: &HeaderMap, hosts: &[String]) -> Result<()> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let host = text(header::HOST).unwrap_or_default();
    if !is_own(host, hosts) {
        let message = format!(
            "the header Host is '{}': addresses and localhost are served, and names that --allow-host gives",
            crate::fields::shortened(host)
        );
        return Err(ApiError::forbidden(message));
    }
    match text(header::ORIGIN) {
        Some(origin) if origin.split_once("://").map(|(_, name)| name) != Some(host) => {
            Err(ApiError::forbidden("the request comes from a web page of another origin, and the server has no keys"))
        }
        _ => Ok(()),
    }
}

fn is_own(host: &str, hosts: &[String]) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let is_allowed = |allowed: &String| allowed.eq_ignore_ascii_case(name) || allowed.eq_ignore_ascii_case(host);
    name.parse::<IpAddr>().is_ok() || name.eq_ignore_ascii_case("localhost") || hosts.iter().any(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};

    fn headers(all: &[(HeaderName, &str)]) -> HeaderMap {
        let value = |text: &str| HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""));
        all.iter().map(|(name, text)| (name.clone(), value(text))).collect()
    }

    #[test]
    fn keys_are_lines() {
        let keys = Keys::parse("# mine\nalpha\n\n beta-2 \n").unwrap_or_default();
        assert_eq!(keys.digests.len(), 2);
        let allowed = |text: &str| keys.check(&headers(&[(header::AUTHORIZATION, text)])).is_ok();
        assert!(allowed("Bearer alpha") && allowed("bearer beta-2") && allowed("Bearer  alpha"));
        for wrong in ["Bearer", "Bearer ", "Bearer alph", "Bearer alphaa", "Basic alpha", "alpha", "Bearer # mine"] {
            assert!(!allowed(wrong), "{wrong}");
        }
        assert!(keys.check(&HeaderMap::new()).is_err());
        assert!(Keys::default().check(&HeaderMap::new()).is_ok());
        assert!(Keys::parse("# none\n").is_err_and(|e| e.contains("no key")));
        assert!(Keys::parse("good\nnot good\n").is_err_and(|e| e.contains("line 2")));
        assert_eq!(format!("{keys:?}"), "Keys(2)");
    }

    #[test]
    fn pages_elsewhere_cannot_use_the_server() {
        let check = |all: &[(HeaderName, &str)]| check_origin(&headers(all), &["box.example".into()]).is_ok();
        for host in ["localhost:8080", "127.0.0.1:8080", "[::1]:8080", "192.168.1.2", "LOCALHOST", "box.example:80"] {
            assert!(check(&[(header::HOST, host)]), "{host}");
            let origin = format!("http://{host}");
            assert!(check(&[(header::HOST, host), (header::ORIGIN, &origin)]), "{host}");
            assert!(!check(&[(header::HOST, host), (header::ORIGIN, "http://evil.example")]), "{host}");
            assert!(!check(&[(header::HOST, host), (header::ORIGIN, "null")]), "{host}");
        }
        for host in ["evil.example", "evil.example:8080", "", "localhost.evil.example", "[::1", "127.0.0.1.evil"] {
            let is_valid = host == "[::1"; // an address, if a careless one
            assert_eq!(check(&[(header::HOST, host)]), is_valid, "{host}");
        }
        assert!(!check(&[]));
    }
}
