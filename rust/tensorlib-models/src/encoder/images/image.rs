//! Images in memory, and from files.

use crate::{Error, Result};
use image::{DynamicImage, ImageDecoder, ImageReader, RgbImage};
use std::fmt;
use std::io::Cursor;
use std::path::Path;

/// The most pixels of an image: 256 million, 768 MiB.
const MOST_PIXELS: u64 = 1 << 28;

/// An image with 8 bits for each of red, green and blue.
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    pub(super) rgb: RgbImage,
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Image({} x {})", self.width(), self.height())
    }
}

impl Image {
    /// An image of these pixels: rows from the top, pixels from the left, three bytes each.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) if a side is 0, or the number of bytes is not that of the pixels.
    pub fn new(width: u32, height: u32, rgb: Vec<u8>) -> Result<Self> {
        let (n, wanted) = (rgb.len(), u64::from(width) * u64::from(height) * 3);
        let refused =
            || Error::invalid(format!("an image of {width} x {height} pixels with {n} bytes: {wanted} are valid"));
        if wanted == 0 {
            return Err(Error::invalid(format!("an image of {width} x {height} pixels: at least one is valid")));
        }
        if n as u64 != wanted {
            return Err(refused());
        }
        Ok(Image { rgb: RgbImage::from_raw(width, height, rgb).ok_or_else(refused)? })
    }

    /// Reads a file: PNG, JPEG, WebP, GIF (its first picture), BMP or TIFF, turned as its metadata says. Transparency is
    /// left out.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind); [`ErrorKind::Format`](crate::ErrorKind) for a file that is none of these, is
    /// damaged, or has more than 2^28 pixels.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|e| Error::io(path, "read", &e))?;
        Self::decode(&bytes).map_err(|e| Error::format(format!("{}: {e}", path.display())))
    }

    /// [`Image::open`] for the bytes of a file.
    ///
    /// # Errors
    /// [`ErrorKind::Format`](crate::ErrorKind), as for [`Image::open`].
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format();
        let reader = reader.map_err(|e| Error::format(e.to_string()))?;
        if reader.format().is_none() {
            return Err(Error::format("is no image: PNG, JPEG, WebP, GIF, BMP and TIFF are read"));
        }
        let damaged = |e: image::ImageError| Error::format(format!("the image cannot be read: {e}"));
        let mut decoder = reader.into_decoder().map_err(damaged)?;
        let (width, height) = decoder.dimensions();
        if u64::from(width) * u64::from(height) > MOST_PIXELS {
            return Err(Error::format(format!("an image of {width} x {height} pixels: up to 2^28 pixels are read")));
        }
        let orientation = decoder.orientation().map_err(damaged)?;
        let mut decoded = DynamicImage::from_decoder(decoder).map_err(damaged)?;
        decoded.apply_orientation(orientation);
        let rgb = decoded.into_rgb8();
        if rgb.is_empty() {
            return Err(Error::format("an image without pixels"));
        }
        Ok(Image { rgb })
    }

    /// Pixels of a row.
    pub fn width(&self) -> u32 {
        self.rgb.width()
    }

    /// The number of rows.
    pub fn height(&self) -> u32 {
        self.rgb.height()
    }
}
