//! How images are resized, cut and normalised before a model sees them: preprocessor_config.json.

use super::image::Image;
use super::proportions;
use crate::encoder::shape::{ImageSizes, Images};
use crate::settings::{Fields, Object};
use crate::warnings::Warnings;
use crate::{Error, Result};
use image::imageops::{crop_imm, overlay, resize, FilterType};
use image::RgbImage;
use serde_json::Value as Json;
use std::path::Path;

const FILE: &str = "preprocessor_config.json";
/// A resized image has at most this many pixels, however long it is.
const MOST_PIXELS: u64 = 1 << 26;
/// What the published class takes where a file for images of any size does not say.
const KNOWN_PATCH: i64 = 16;
const KNOWN_PATCHES: i64 = 256;

const FIELDS: Fields = Fields {
    known: &[
        "_processor_class",
        "crop_size",
        "data_format",
        "default_to_square",
        "device",
        "disable_grouping",
        "do_center_crop",
        "do_convert_rgb",
        "do_normalize",
        "do_rescale",
        "do_resize",
        "feature_extractor_type",
        "image_mean",
        "image_processor_type",
        "image_std",
        "input_data_format",
        "max_num_patches",
        "patch_size",
        "processor_class",
        "resample",
        "rescale_factor",
        "return_tensors",
        "size",
    ],
    only: &[("do_pad", &["false"]), ("do_reduce_labels", &["false"])],
};

/// The size to which images are resized.
#[derive(Clone, Copy, Debug)]
enum Size {
    /// Pixels of the shorter side; the other one follows.
    Shorter(u32),
    Both {
        width: u32,
        height: u32,
    },
    /// Up to this many patches, in about the image's proportions.
    Patches(u32),
}

/// The size of prepared images.
#[derive(Clone, Copy, Debug)]
enum Sizes {
    /// Squares with sides of this number of pixels.
    Square(u32),
    /// Whole patches, up to this number.
    Any(u32),
}

/// What is done to images.
#[derive(Clone, Debug)]
pub struct Preparation {
    resize: Option<(Size, FilterType)>,
    cut: bool,
    /// The factor of a byte, and for each channel what is subtracted then, and what divides.
    factor: f32,
    mean: [f32; 3],
    deviation: [f32; 3],
    sizes: Sizes,
    patch: u32,
}

impl Preparation {
    /// Reads the file of a folder, if it has one.
    pub fn read(folder: Option<&Path>, of: &Images, warnings: &Warnings) -> Result<Option<Self>> {
        let path = folder.unwrap_or(Path::new("")).join(FILE);
        let Some(file) = Object::read(&path, &FIELDS, warnings)? else { return Ok(None) };
        let patch = u32::try_from(of.patch).unwrap_or(1);
        let sizes = sizes_of(&file, of, patch)?;
        let resizes = file.flag_if("do_resize")?.unwrap_or(true);
        let (resize, cut) = match sizes {
            Sizes::Square(side) => square(&file, side, resizes)?,
            // The published code has no use for a size, and cuts nothing.
            Sizes::Any(most) => {
                let filter = filter_of(&file, FilterType::Triangle)?;
                (resizes.then_some((Size::Patches(most), filter)), false)
            }
        };
        let rescales = file.flag_if("do_rescale")?.unwrap_or(true);
        let factor = number(&file, "rescale_factor")?.unwrap_or(1.0 / 255.0);
        let normalises = file.flag_if("do_normalize")?.unwrap_or(true);
        let is_any = matches!(sizes, Sizes::Any(_));
        let of_channels = |name: &str, usual: f32| match normalises {
            true if is_any && file.json[name].is_null() => Ok([0.5; 3]),
            true => channels(&file, name),
            false => Ok([usual; 3]),
        };
        let (mean, deviation) = (of_channels("image_mean", 0.0)?, of_channels("image_std", 1.0)?);
        if deviation.contains(&0.0) {
            return Err(file.wrong("image_std", "a list of 3 numbers other than 0"));
        }
        let factor = if rescales { factor } else { 1.0 };
        Ok(Some(Preparation { resize, cut, factor, mean, deviation, sizes, patch }))
    }

    /// The number of rows of the image's patches, and of patches in each row.
    pub fn grid(&self, image: &Image) -> Result<(usize, usize)> {
        let (width, height) = match (self.sizes, self.resize) {
            (Sizes::Square(side), _) => (u64::from(side), u64::from(side)),
            (Sizes::Any(_), Some((Size::Patches(most), _))) => {
                proportions::resized(image.rgb.dimensions(), self.patch, most)
            }
            (Sizes::Any(most), _) => {
                let (width, height) = (image.width(), image.height());
                let patches = u64::from(width / self.patch) * u64::from(height / self.patch);
                if width % self.patch != 0 || height % self.patch != 0 || patches > u64::from(most) {
                    return Err(Error::invalid(format!(
                        "an image of {width} x {height} pixels, which the folder's {FILE} does not resize: whole \
                         patches of {} pixels, up to {most} of them, are valid",
                        self.patch
                    )));
                }
                (u64::from(width), u64::from(height))
            }
        };
        let patches = |pixels: u64| usize::try_from(pixels / u64::from(self.patch)).unwrap_or(usize::MAX);
        Ok((patches(height), patches(width)))
    }

    /// The image's patches: rows of patches from the top. In a patch, the rows of red, of green and of blue follow each
    /// other, or the colours of a pixel where images have any size.
    pub fn patches(&self, image: &Image) -> Result<Vec<f32>> {
        let prepared = self.prepared(&image.rgb)?;
        let ((width, height), patch) = (prepared.dimensions(), self.patch);
        let mut values = Vec::with_capacity(prepared.len());
        for top in (0..height).step_by(patch as usize) {
            for left in (0..width).step_by(patch as usize) {
                let pixels = || (top..top + patch).flat_map(|y| (left..left + patch).map(move |x| (x, y)));
                let value = |(x, y): (u32, u32), channel: usize| {
                    let byte = f32::from(prepared.get_pixel(x, y)[channel]);
                    (byte * self.factor - self.mean[channel]) / self.deviation[channel]
                };
                match self.sizes {
                    Sizes::Square(_) => {
                        values.extend(
                            (0..3)
                                .flat_map(|channel| pixels().map(move |pixel| (pixel, channel)))
                                .map(|(pixel, channel)| value(pixel, channel)),
                        );
                    }
                    Sizes::Any(_) => {
                        values.extend(pixels().flat_map(|pixel| [0, 1, 2].map(|channel| value(pixel, channel))));
                    }
                }
            }
        }
        Ok(values)
    }

    /// The image at the model's size.
    fn prepared(&self, image: &RgbImage) -> Result<RgbImage> {
        let (width, height) = image.dimensions();
        let resized = match self.resize {
            Some((size, filter)) => {
                let (width, height) = match size {
                    Size::Both { width, height } => (u64::from(width), u64::from(height)),
                    Size::Patches(most) => proportions::resized((width, height), self.patch, most),
                    Size::Shorter(n) => {
                        let (short, long) = (u64::from(width.min(height)), u64::from(width.max(height)));
                        let longer = u64::from(n) * long / short;
                        if width <= height {
                            (u64::from(n), longer)
                        } else {
                            (longer, u64::from(n))
                        }
                    }
                };
                if width * height > MOST_PIXELS {
                    let (from, to) = (image.dimensions(), (width, height));
                    return Err(Error::invalid(format!(
                        "an image of {} x {} pixels would have {} x {} when it is resized: up to 2^26 pixels are valid",
                        from.0, from.1, to.0, to.1
                    )));
                }
                resize(image, width as u32, height as u32, filter)
            }
            None => image.clone(),
        };
        let Sizes::Square(side) = self.sizes else { return Ok(resized) };
        let resized = if self.cut { middle(&resized, side) } else { resized };
        match resized.dimensions() == (side, side) {
            true => Ok(resized),
            false => Err(Error::invalid(format!(
                "an image of {width} x {height} pixels, which the folder's {FILE} does not resize: {side} x {side} is valid"
            ))),
        }
    }
}

/// The size of prepared images, as the model and the file say.
fn sizes_of(file: &Object, of: &Images, patch: u32) -> Result<Sizes> {
    let stated = |name: &str| if file.json[name].is_null() { Ok(None) } else { file.count(name).map(Some) };
    match of.sizes {
        ImageSizes::Square(side) => {
            for name in ["max_num_patches", "patch_size"] {
                if !file.json[name].is_null() {
                    let what = format!("{name}: is {}: models of images of one size have none", file.json[name]);
                    return Err(Error::unsupported(format!("{}: {what}", file.path)));
                }
            }
            Ok(Sizes::Square(u32::try_from(side).unwrap_or(0)))
        }
        ImageSizes::Any { .. } => {
            if stated("patch_size")?.unwrap_or(KNOWN_PATCH) != i64::from(patch) {
                return Err(file.wrong("patch_size", &format!("the model's {patch} pixels")));
            }
            let most = stated("max_num_patches")?.unwrap_or(KNOWN_PATCHES);
            Ok(Sizes::Any(u32::try_from(most).unwrap_or(u32::MAX)))
        }
    }
}

/// How images become squares, and whether their middle is cut out.
fn square(file: &Object, side: u32, resizes: bool) -> Result<(Option<(Size, FilterType)>, bool)> {
    let cut = file.flag_if("do_center_crop")?.unwrap_or(!file.json["crop_size"].is_null());
    if cut {
        size_of(file, "crop_size")?.check(file, "crop_size", side)?;
    }
    let filter = filter_of(file, FilterType::CatmullRom)?;
    let resize = if resizes { Some((size_of(file, "size")?, filter)) } else { None };
    if let Some((size @ Size::Both { .. }, _)) = resize.filter(|_| !cut) {
        size.check(file, "size", side)?;
    }
    Ok((resize, cut))
}

/// The middle of an image, with black around it if it is smaller.
fn middle(image: &RgbImage, side: u32) -> RgbImage {
    let (width, height) = image.dimensions();
    if width >= side && height >= side {
        return crop_imm(image, (width - side) / 2, (height - side) / 2, side, side).to_image();
    }
    let mut cut = RgbImage::new(side, side);
    // Where the number of black pixels is odd, one more lies before the image.
    let offset = |n: u32| (i64::from(side) - i64::from(n) + i64::from(n < side)).div_euclid(2);
    overlay(&mut cut, image, offset(width), offset(height));
    cut
}

impl Size {
    /// Refuses a size other than the model's.
    fn check(self, file: &Object, name: &str, side: u32) -> Result<()> {
        let is_side = match self {
            Size::Shorter(n) => n == side,
            Size::Both { width, height } => (width, height) == (side, side),
            Size::Patches(_) => false,
        };
        match is_side {
            true => Ok(()),
            false => Err(file.wrong(name, &format!("the model's {side} pixels"))),
        }
    }
}

/// The filter that the setting numbers as Pillow does; the usual one without it.
fn filter_of(file: &Object, usual: FilterType) -> Result<FilterType> {
    const VALID: &str = "0 (nearest), 1 (lanczos), 2 (bilinear) or 3 (bicubic)";
    match &file.json["resample"] {
        Json::Null => Ok(usual),
        value => match value.as_i64() {
            Some(0) => Ok(FilterType::Nearest),
            Some(1) => Ok(FilterType::Lanczos3),
            Some(2) => Ok(FilterType::Triangle),
            Some(3) => Ok(FilterType::CatmullRom),
            _ => Err(file.wrong("resample", VALID)),
        },
    }
}

/// A size: a number, or an object.
fn size_of(file: &Object, name: &str) -> Result<Size> {
    const VALID: &str = "a number of pixels, or an object with shortest_edge, or with height and width,";
    let pixels =
        |value: &Json| value.as_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| (1..=1 << 14).contains(n));
    let value = &file.json[name];
    let found = match value {
        Json::Object(all) if all.len() == 1 => pixels(&value["shortest_edge"]).map(Size::Shorter),
        Json::Object(all) if all.len() == 2 => match (pixels(&value["width"]), pixels(&value["height"])) {
            (Some(width), Some(height)) => Some(Size::Both { width, height }),
            _ => None,
        },
        number => pixels(number).map(Size::Shorter),
    };
    found.ok_or_else(|| file.wrong(name, VALID))
}

fn number(file: &Object, name: &str) -> Result<Option<f32>> {
    match &file.json[name] {
        Json::Null => Ok(None),
        value => value.as_f64().map(|x| Some(x as f32)).ok_or_else(|| file.wrong(name, "a number")),
    }
}

fn channels(file: &Object, name: &str) -> Result<[f32; 3]> {
    let list =
        file.json[name].as_array().map(|all| all.iter().filter_map(Json::as_f64).map(|x| x as f32).collect::<Vec<_>>());
    list.and_then(|all| all.try_into().ok()).ok_or_else(|| file.wrong(name, "a list of 3 numbers"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pixels of no particular image.
    fn image(width: u32, height: u32) -> RgbImage {
        let value = |x: u32, y: u32, c: u32| ((x * 37 + y * 59 + c * 83 + x * y * 7) % 256) as u8;
        RgbImage::from_fn(width, height, |x, y| image::Rgb([0, 1, 2].map(|c| value(x, y, c))))
    }

    fn preparation(size: Size, filter: FilterType, side: u32) -> Preparation {
        let (mean, deviation) = ([0.0; 3], [1.0; 3]);
        Preparation {
            resize: Some((size, filter)),
            cut: true,
            factor: 1.0,
            mean,
            deviation,
            sizes: Sizes::Square(side),
            patch: 1,
        }
    }

    /// Pillow 12 made these bytes, and models were trained with its results. It rounds after each direction, so a byte may
    /// differ by 1.
    #[test]
    fn images_are_resized_as_pillow_does() {
        #[rustfmt::skip]
        let bicubic = [
            9, 92, 182, 50, 137, 186, 97, 173, 154, 151, 191, 32, 162, 100, 95, 191, 36, 146, 49, 100, 145, 54, 144, 175,
            79, 179, 148, 136, 217, 27, 168, 124, 91, 160, 40, 166, 101, 118, 157, 74, 186, 172, 150, 155, 70, 114, 185, 95,
            157, 110, 48, 205, 138, 130, 94, 87, 155, 53, 188, 117, 151, 157, 97, 120, 156, 98, 133, 115, 190, 67, 148, 119,
            216, 35, 139, 95, 117, 179, 93, 144, 60, 196, 81, 67, 161, 104, 171, 70, 143, 114, 125, 77, 122, 213, 110, 118,
            71, 127, 184, 106, 160, 50, 209, 36, 97, 186, 89, 202, 98, 194, 148, 187, 118, 85, 87, 80, 164, 118, 156, 54,
        ];
        #[rustfmt::skip]
        let bilinear = [
            55, 138, 161, 133, 151, 100, 142, 92, 129, 83, 133, 139, 140, 172, 88, 124, 112, 134, 114, 154, 127, 123, 144,
            120, 157, 89, 132, 122, 129, 97, 127, 123, 128, 123, 126, 133, 110, 125, 121, 173, 86, 128, 134, 139, 130, 131,
            104, 109,
        ];
        #[rustfmt::skip]
        let lanczos = [
            26, 123, 180, 112, 173, 114, 175, 118, 81, 124, 67, 158, 67, 156, 132, 139, 202, 66, 156, 113, 113, 91, 116,
            164, 124, 184, 117, 116, 147, 114, 191, 59, 141, 85, 134, 116, 160, 140, 82, 99, 110, 143, 139, 118, 138, 84,
            142, 140, 179, 76, 80, 160, 116, 183, 129, 132, 106, 135, 97, 103,
        ];
        #[rustfmt::skip]
        let nearest = [
            59, 142, 225, 147, 230, 57, 235, 62, 145, 67, 150, 233, 155, 238, 65, 177, 4, 87, 37, 120, 203, 153, 236, 63, 13,
            96, 179, 129, 212, 39, 39, 122, 205, 183, 10, 93, 71, 154, 237, 215, 42, 125, 103, 186, 13,
        ];
        let table: [(u32, u32, FilterType, &[u8]); 4] = [
            (8, 5, FilterType::CatmullRom, &bicubic),
            (4, 4, FilterType::Triangle, &bilinear),
            (5, 4, FilterType::Lanczos3, &lanczos),
            (5, 3, FilterType::Nearest, &nearest),
        ];
        for (width, height, filter, wanted) in table {
            let found = resize(&image(9, 6), width, height, filter);
            let off = found.as_raw().iter().zip(wanted).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
            assert!(found.len() == wanted.len() && off <= 1, "{filter:?}: {off}");
        }
    }

    #[test]
    fn the_shorter_side_is_resized_and_the_middle_is_cut_out() {
        let found = preparation(Size::Shorter(4), FilterType::CatmullRom, 4).prepared(&image(9, 6)).unwrap();
        let whole = resize(&image(9, 6), 6, 4, FilterType::CatmullRom);
        assert_eq!(found, crop_imm(&whole, 1, 0, 4, 4).to_image());
        let high = preparation(Size::Shorter(4), FilterType::CatmullRom, 4).prepared(&image(6, 9)).unwrap();
        assert_eq!(high, crop_imm(&resize(&image(6, 9), 4, 6, FilterType::CatmullRom), 0, 1, 4, 4).to_image());
        let same =
            preparation(Size::Both { width: 9, height: 6 }, FilterType::CatmullRom, 5).prepared(&image(9, 6)).unwrap();
        assert_eq!(same, crop_imm(&image(9, 6), 2, 0, 5, 5).to_image());
    }

    #[test]
    fn small_images_get_a_black_border() {
        let small = middle(&image(3, 2), 6);
        for (x, y, pixel) in small.enumerate_pixels() {
            let inside = (2..5).contains(&x) && (2..4).contains(&y);
            assert_eq!(
                *pixel,
                if inside { *image(3, 2).get_pixel(x - 2, y - 2) } else { image::Rgb([0; 3]) },
                "{x} {y}"
            );
        }
    }

    #[test]
    fn images_that_would_be_huge_are_refused() {
        let one = preparation(Size::Shorter(224), FilterType::CatmullRom, 224).prepared(&image(1, 4000));
        assert!(one.unwrap_err().to_string().contains("1 x 4000 pixels would have 224 x 896000"));
    }

    #[test]
    fn patches_are_rows_of_red_of_green_and_of_blue() {
        let mut of = preparation(Size::Both { width: 4, height: 4 }, FilterType::Nearest, 4);
        (of.patch, of.factor, of.mean, of.deviation) = (2, 0.5, [1.0, 2.0, 3.0], [1.0, 2.0, 4.0]);
        let rgb = image(4, 4);
        let patches = of.patches(&Image { rgb: rgb.clone() }).unwrap();
        let value = |x, y, c: usize| (f32::from(rgb.get_pixel(x, y)[c]) * 0.5 - of.mean[c]) / of.deviation[c];
        let second: Vec<f32> =
            (0..3).flat_map(|c| [value(2, 0, c), value(3, 0, c), value(2, 1, c), value(3, 1, c)]).collect();
        assert_eq!(patches[12..24], second);
        assert_eq!(patches.len(), 48);
        // Where images have any size, the colours of a pixel are neighbours.
        (of.sizes, of.resize) = (Sizes::Any(8), None);
        let patches = of.patches(&Image { rgb: rgb.clone() }).unwrap();
        let second: Vec<f32> =
            [(2, 0), (3, 0), (2, 1), (3, 1)].iter().flat_map(|(x, y)| [0, 1, 2].map(|c| value(*x, *y, c))).collect();
        assert_eq!(patches[12..24], second);
    }
}
