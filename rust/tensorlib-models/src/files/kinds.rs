//! Recognises files of known kinds that are not supported, with a hint for each.

/// The first bytes of each kind of file, and the hint.
const KINDS: [(&[u8], &str); 13] = [
    (b"version https://git-lfs", LFS),
    (b"PK\x03\x04", PYTORCH),
    (b"\x80\x02", PYTORCH),
    (b"\x80\x04", PYTORCH),
    (b"lmgg", LMGG),
    (b"tjgg", GGML),
    (b"fmgg", GGML),
    (b"algg", "it is an adapter of a format before GGUF: convert the adapter again"),
    (b"\x1f\x8b", "it is packed by gzip: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "it is packed by zstd: unpack it first"),
    (b"<!DOCTYPE", HTML),
    (b"<!doctype", HTML),
    (b"<html", HTML),
];

const LFS: &str = "it is a pointer of Git LFS, and the file itself was not fetched: run `git lfs pull` in its folder";
const PYTORCH: &str = "weights of PyTorch are programs: convert them to safetensors before";
const GGML: &str = "it is of a format before GGUF: convert the model again from its source";
const LMGG: &str =
    "it is of a format before GGUF: `tensorlib transcribe` reads such files of Whisper; convert others again";
const HTML: &str = "it is a web page: download the file itself";
const IMATRIX: &str =
    "it is an imatrix file of the older kind: `tensorlib quantize --imatrix` reads a whole one; get it again";

/// The hint for a file that begins with these bytes, if its kind is known.
pub fn hint(head: &[u8]) -> Option<&'static str> {
    let known = KINDS.iter().find(|(first, _)| head.starts_with(first)).map(|(_, hint)| *hint);
    known.or_else(|| is_old_imatrix(head).then_some(IMATRIX))
}

/// The number of entries, then the length of the first one's name, then that name.
fn is_old_imatrix(head: &[u8]) -> bool {
    let number = |at: usize| head.get(at..at + 4).map(|b| i32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let (Some(entries), Some(length)) = (number(0), number(4)) else { return false };
    let name = head.get(8..).unwrap_or_default();
    let name = &name[..name.len().min(usize::try_from(length).unwrap_or(0))];
    (1..100_000).contains(&entries)
        && (4..256).contains(&length)
        && name.len() >= 4
        && name.iter().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_their_first_bytes() {
        assert_eq!(hint(b"version https://git-lfs.github.com/spec/v1\noid sha256:4"), Some(LFS));
        assert_eq!(hint(b"PK\x03\x04\x00\x00"), Some(PYTORCH));
        let old = [&3i32.to_le_bytes()[..], &19i32.to_le_bytes(), b"blk.0.attn_q.weight"].concat();
        assert_eq!(hint(&old), Some(IMATRIX));
        for other in [&b""[..], b"GGUF\x03\0\0\0", b"hello world, this is a text", &[0; 40], &[1, 0, 0, 0, 5, 0, 0, 0]]
        {
            assert_eq!(hint(other), None, "{other:?}");
        }
    }
}
