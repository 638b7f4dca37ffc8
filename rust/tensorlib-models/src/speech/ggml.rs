//! Files for whisper.cpp, `ggml-*.bin`: the format before GGUF. In 32-bit numbers of little-endian order, a file has
//!
//! - a magic number and eleven sizes, of which the last one says how it is quantised,
//! - the bands of the features: their number, the number of frequencies, and a row of floats for each,
//! - the tokens' texts: their number, and the length and the bytes of each,
//! - tensors to its end: the number of dimensions, the length of the name, the type, the dimensions, the contiguous one
//!   first, the name, and the elements.

use super::features::BINS;
use super::files::Files;
use super::generation::Generation;
use super::model::{ggml_names, Half, Shape};
use super::vocabulary::Vocabulary;
use crate::files::{open_regular, Entry, SafeFile, SafeSet, Source, Stored};
use crate::warnings::Warnings;
use crate::{Error, Result};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use tensorlib::DType;

/// The first bytes of a file.
pub const MAGIC: &[u8; 4] = b"lmgg";
/// The types of elements, whose numbers are those of GGUF.
const TYPES: [DType; 13] = [
    DType::F32,
    DType::F16,
    DType::BF16,
    DType::Q4_0,
    DType::Q4_1,
    DType::Q5_0,
    DType::Q5_1,
    DType::Q8_0,
    DType::Q2_K,
    DType::Q3_K,
    DType::Q4_K,
    DType::Q5_K,
    DType::Q6_K,
];
/// The version of quantised blocks, of which thousands in the last size tell. Older ones have another order.
const VERSION: i32 = 2;
/// Larger counts are those of a damaged file.
const MOST: i32 = 1 << 20;

/// Whether a file begins as these do.
pub fn is_ggml(path: &Path) -> Result<bool> {
    let mut head = [0; MAGIC.len()];
    Ok(open_regular(path)?.read_exact(&mut head).is_ok() && &head == MAGIC)
}

/// Opens a file. Its tensors are read when they are asked for.
pub fn open(path: &Path) -> Result<Files> {
    let file = open_regular(path)?;
    let size = file.metadata().map_err(|e| Error::io(path, "read", &e))?.len();
    let about = |e: Error| e.about(path.display());
    let mut reader = Reader { file: BufReader::new(file), size, at: 0 };
    let (header, entries) = (|| Ok((Header::read(&mut reader)?, entries(&mut reader)?)))().map_err(about)?;
    let file = SafeFile::of_other_format(path, open_regular(path)?);
    let Header { shape, bands, vocabulary } = header;
    Ok(Files {
        source: Source::Safetensors(SafeSet::of_other_format(file, entries)),
        names: ggml_names(),
        generation: Generation::default(),
        warnings: Warnings::default(),
        shape,
        bands,
        vocabulary,
    })
}

/// What a file has before its tensors.
struct Header {
    shape: Shape,
    bands: Vec<f32>,
    vocabulary: Vocabulary,
}

impl Header {
    fn read(reader: &mut Reader) -> Result<Self> {
        reader.bytes(MAGIC.len())?;
        let mut sizes = [0i64; 10];
        for size in &mut sizes {
            *size = reader.count("a size")?.into();
        }
        let [tokens, positions, width, heads, layers, text_tokens, text_width, text_heads, text_layers, mels] = sizes;
        let kind = reader.number()?;
        if kind >= 1000 && kind / 1000 != VERSION {
            let message = format!("is quantised by version {} of the format: {VERSION} is supported", kind / 1000);
            return Err(Error::unsupported(message).with_hint("quantise it again from its source"));
        }
        let half = |layers, width, heads| match width % heads {
            0 => Ok(Half { layers, width, heads, ffn: 4 * width }),
            _ => Err(Error::format(format!("{heads} heads: a number that divides the width, {width}, is valid"))),
        };
        let shape = Shape {
            encoder: half(layers, width, heads)?,
            decoder: half(text_layers, text_width, text_heads)?,
            mels,
            positions,
            tokens: text_tokens,
            vocabulary: tokens,
        };
        shape.check()?;
        Ok(Header { bands: Self::bands(reader, mels)?, vocabulary: Self::vocabulary(reader, &shape)?, shape })
    }

    fn bands(reader: &mut Reader, mels: i64) -> Result<Vec<f32>> {
        let (rows, columns) = (reader.count("the number of bands")?, reader.count("the number of frequencies")?);
        if i64::from(rows) != mels || columns as usize != BINS {
            let message = format!("bands of {rows} times {columns} numbers: {mels} times {BINS} are valid");
            return Err(Error::format(message));
        }
        let bytes = reader.bytes(rows as usize * BINS * 4)?;
        let bands: Vec<f32> = bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        match bands.iter().find(|x| !x.is_finite()) {
            Some(x) => Err(Error::format(format!("a band holds {x}: finite numbers are valid"))),
            None => Ok(bands),
        }
    }

    fn vocabulary(reader: &mut Reader, shape: &Shape) -> Result<Vocabulary> {
        let n = reader.count("the number of texts")?;
        let mut texts = Vec::new();
        for _ in 0..n {
            let length = reader.number()?;
            let length = usize::try_from(length).ok().filter(|n| *n < MOST as usize);
            let length = length.ok_or_else(|| Error::format("a token's text has a length that is none"))?;
            texts.push(reader.bytes(length)?);
        }
        let (size, times) = (shape.vocabulary as usize, shape.positions as usize + 1);
        Vocabulary::of_texts(texts, size, times)
    }
}

fn entries(reader: &mut Reader) -> Result<Vec<Entry>> {
    let mut all: Vec<Entry> = Vec::new();
    while reader.at < reader.size {
        let dimensions = reader.count("the number of dimensions")?;
        let length = reader.count("the length of a name")?;
        let kind = reader.number()?;
        if dimensions > 4 {
            return Err(Error::format(format!("a tensor of {dimensions} dimensions: 1 to 4 are valid")));
        }
        let mut shape = Vec::new();
        for _ in 0..dimensions {
            shape.push(i64::from(reader.count("a dimension")?));
        }
        let name = String::from_utf8_lossy(&reader.bytes(length as usize)?).into_owned();
        let Some(dtype) = TYPES.iter().find(|dtype| **dtype as i32 == kind) else {
            let known: Vec<String> = TYPES.iter().map(|dtype| format!("{} ({dtype})", *dtype as i32)).collect();
            let message = format!("tensor '{name}' is of type {kind}: {} are known", known.join(", "));
            return Err(Error::unsupported(message));
        };
        let block = dtype.block_size();
        if shape[0] % block != 0 {
            let message = format!("tensor '{name}' is {shape:?} {dtype}: rows of whole blocks of {block} are valid");
            return Err(Error::format(message));
        }
        // Three counts have a product that fits; a fourth one may not.
        let elements = shape.iter().try_fold(1u64, |product, n| product.checked_mul(*n as u64));
        let nbytes = elements.and_then(|n| (n / block as u64).checked_mul(dtype.size() as u64));
        let nbytes = nbytes.ok_or_else(|| Error::format(format!("tensor '{name}' is {shape:?}: it is too large")))?;
        let (stored, offset) = (Stored::As(*dtype), reader.at);
        reader.skip(nbytes).map_err(|e| e.about(format!("tensor '{name}'")))?;
        if all.iter().any(|other| other.name == name) {
            return Err(Error::format(format!("tensor '{name}' is there twice")));
        }
        all.push(Entry { type_name: dtype.name(), name, stored, shape, file: 0, offset, nbytes });
    }
    Ok(all)
}

/// Reads a file from its beginning, and not beyond its end.
struct Reader {
    file: BufReader<File>,
    size: u64,
    at: u64,
}

impl Reader {
    fn bytes(&mut self, n: usize) -> Result<Vec<u8>> {
        self.check(n as u64)?;
        let mut bytes = vec![0; n];
        self.file.read_exact(&mut bytes).map_err(|e| self.unreadable(&e))?;
        self.at += n as u64;
        Ok(bytes)
    }

    fn skip(&mut self, n: u64) -> Result<()> {
        self.check(n)?;
        let step = i64::try_from(n).unwrap_or(i64::MAX);
        self.file.seek_relative(step).map_err(|e| self.unreadable(&e))?;
        self.at += n;
        Ok(())
    }

    fn number(&mut self) -> Result<i32> {
        let b = self.bytes(4)?;
        Ok(i32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    /// A number from 1 to 2^20.
    fn count(&mut self, what: &str) -> Result<i32> {
        let at = self.at;
        match self.number()? {
            n @ 1..=MOST => Ok(n),
            n => Err(Error::format(format!("{what}, at byte {at}, is {n}: 1 to {MOST} are valid"))),
        }
    }

    fn check(&self, n: u64) -> Result<()> {
        let left = self.size - self.at;
        match n <= left {
            true => Ok(()),
            false => Err(Error::format(format!("ends too early: {n} bytes are expected at byte {}", self.at))
                .with_hint("the file was not copied to its end: get it again")),
        }
    }

    fn unreadable(&self, error: &std::io::Error) -> Error {
        Error::no_file(format!("cannot be read at byte {}: {error}", self.at))
    }
}
