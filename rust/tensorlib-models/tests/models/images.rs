//! CLIP and SigLIP, compared with double precision.

use crate::common::clip::Spec;
use crate::common::tiny::Tensors;
use crate::common::{backend, error, Folder};
use std::path::Path;
use tensorlib::DType;
use tensorlib_models::{Encoder, EncoderOptions, ErrorKind, Image, ModelKind};

fn open(path: &Path) -> Encoder {
    Encoder::open(path, &backend(), &EncoderOptions::new().exact(true)).unwrap()
}

fn refused(path: &Path) -> String {
    Encoder::open(path, &backend(), &EncoderOptions::new()).err().unwrap().to_string()
}

fn pixels(width: usize, height: usize, seed: usize) -> Vec<u8> {
    (0..width * height * 3).map(|i| (i * i * 7 + i * 31 + seed * 57) as u8).collect()
}

/// An image of the model's size.
fn image(spec: &Spec, seed: usize) -> Image {
    let side = spec.side as u32;
    Image::new(side, side, pixels(spec.side, spec.side, seed)).unwrap()
}

fn lines(spec: &Spec) -> Vec<Vec<u32>> {
    let lengths = [3, 1, spec.positions, 7, 3];
    let line = |(i, n): (usize, &usize)| (0..*n).map(|j| ((i * 31 + j * j * 5 + 1) % spec.vocabulary) as u32).collect();
    lengths.iter().enumerate().map(line).collect()
}

fn write(path: &Path, spec: &Spec, seed: u64, dtype: DType) -> Tensors {
    let tensors = spec.tensors(seed, dtype);
    spec.write_folder(path, &tensors);
    tensors
}

/// The preparation of images with another field at the end.
fn write_preparation(path: &Path, spec: &Spec, field: &str) {
    let text = spec.preparation();
    let text = format!("{}, {field}}}", &text[..text.len() - 1]);
    std::fs::write(path.join("preprocessor_config.json"), text).unwrap();
}

#[test]
fn vectors_of_texts_and_images_are_those_of_double_precision() {
    let folder = Folder::new("clip");
    for (i, spec) in [Spec::clip(), Spec::siglip(), Spec::siglip2()].iter().enumerate() {
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            let path = folder.path(&format!("{i}-{dtype}"));
            let tensors = write(&path, spec, 3, dtype);
            // SAFETY: nobody changes the folder.
            assert_eq!(unsafe { ModelKind::of_mapped(&path) }.unwrap(), ModelKind::Encoder);
            let encoder = open(&path);
            assert_eq!(encoder.warnings(), [""; 0]);
            assert_eq!((encoder.width(), encoder.max_tokens()), (spec.outputs, spec.positions));
            assert!(encoder.has_images());
            let found = encoder.embed_tokens(&lines(spec), |_| true).unwrap();
            for (found, line) in found.iter().zip(lines(spec)) {
                let off = error(found, &spec.text(&tensors, &line));
                assert!(off < 1e-4, "{i} {dtype}, {} tokens: {off:e}", line.len());
            }
            let images: Vec<Image> = (0..3).map(|seed| image(spec, seed)).collect();
            let together = encoder.embed_images(&images).unwrap();
            for (seed, found) in together.iter().enumerate() {
                let off = error(found, &spec.image(&tensors, &pixels(spec.side, spec.side, seed)));
                assert!(off < 1e-4, "{i} {dtype}, image {seed}: {off:e}");
            }
            // An image has the vector that it has alone.
            let alone = encoder.embed_images(&images[1..2]).unwrap();
            assert!(alone[0].iter().zip(&together[1]).all(|(a, b)| (a - b).abs() <= 1e-5));
            assert!(encoder.embed_images(&[]).unwrap().is_empty());
        }
    }
}

#[test]
fn weights_in_blocks_stay_near() {
    let folder = Folder::new("clip-blocks");
    for (i, spec) in [Spec::clip(), Spec::siglip(), Spec::siglip2()].iter().enumerate() {
        let path = folder.path(&i.to_string());
        let tensors = write(&path, spec, 3, DType::F32);
        let encoder = Encoder::open(&path, &backend(), &EncoderOptions::new().stored_as(DType::Q8_0)).unwrap();
        let off = error(
            &encoder.embed_images(&[image(spec, 1)]).unwrap()[0],
            &spec.image(&tensors, &pixels(spec.side, spec.side, 1)),
        );
        // SigLIP's rows are no whole blocks here, so they stay as they are.
        assert!(off < 0.1 && (off > 1e-6) == spec.is_clip, "{off:e}");
    }
}

#[test]
fn other_sizes_are_prepared() {
    let folder = Folder::new("clip-sizes");
    let (spec, path) = (Spec::clip(), folder.path("hub"));
    write(&path, &spec, 3, DType::F32);
    let encoder = open(&path);
    let sizes = [(1, 1), (40, 20), (7, 300), (20, 20), (333, 21)];
    let images =
        sizes.map(|(width, height)| Image::new(width, height, pixels(width as usize, height as usize, 1)).unwrap());
    assert_eq!(encoder.embed_images(&images).unwrap().len(), sizes.len());
    let long = Image::new(1, 100_000_000, vec![7; 300_000_000]).unwrap();
    let error = encoder.embed_images(&[long]).unwrap_err();
    assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("when it is resized"), "{error}");
    // Half of a wide image is cut off, and the middle of it alone matters.
    let mut wide = pixels(40, 20, 3);
    let middle: Vec<u8> = wide.chunks(120).flat_map(|row| row[30..90].to_vec()).collect();
    wide.chunks_mut(120).for_each(|row| row[..30].fill(9));
    let both = [Image::new(40, 20, wide).unwrap(), Image::new(20, 20, middle).unwrap()];
    let vectors = encoder.embed_images(&both).unwrap();
    assert!(vectors[0].iter().zip(&vectors[1]).all(|(a, b)| (a - b).abs() < 1e-5));
}

#[test]
fn images_of_files() {
    // A PNG of two pixels, red and blue, made by hand: one scanline without compression.
    let png: &[u8] = &[
        0x89, b'P', b'N', b'G', 13, 10, 26, 10, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0, 2, 0, 0, 0, 1, 8, 2, 0,
        0, 0, 0x7b, 0x40, 0xe8, 0xdd, 0, 0, 0, 18, b'I', b'D', b'A', b'T', 0x78, 1, 1, 7, 0, 0xf8, 0xff, 0, 255, 0, 0,
        0, 0, 255, 0x07, 0xff, 0x01, 0xff, 0, 0, 0, 0,
    ];
    let folder = Folder::new("clip-files");
    let bmp = folder.path("two.bmp");
    // A BMP of the same: 54 bytes of header, then blue, green, red.
    let mut bytes = b"BM".to_vec();
    for n in [62u32, 0, 54, 40, 2, 1, 1 | 24 << 16, 0, 8, 0, 0, 0, 0] {
        bytes.extend(n.to_le_bytes());
    }
    bytes.extend([0, 0, 255, 255, 0, 0, 0, 0]);
    std::fs::write(&bmp, &bytes).unwrap();
    let image = Image::open(&bmp).unwrap();
    assert_eq!((image.width(), image.height()), (2, 1));
    assert_eq!(image, Image::new(2, 1, vec![255, 0, 0, 0, 0, 255]).unwrap());
    let of = |bytes: &[u8]| Image::decode(bytes).unwrap_err();
    for bad in [&b""[..], b"no image", &bytes[..40], &png[..30], png] {
        assert_eq!(of(bad).kind(), ErrorKind::Format);
    }
    assert!(of(b"no image").to_string().contains("PNG, JPEG, WebP, GIF, BMP and TIFF are read"));
    let mut huge = bytes.clone();
    huge[18..26].copy_from_slice(&[0, 128, 0, 0, 0, 128, 0, 0]);
    assert!(of(&huge).to_string().contains("32768 x 32768 pixels"), "{}", of(&huge));
    assert_eq!(Image::open(folder.path("none.png")).unwrap_err().kind(), ErrorKind::Io);
    for (width, height, n, words) in
        [(0, 4, 0, "at least one"), (2, 2, 11, "12 are valid"), (u32::MAX, u32::MAX, 0, "are valid")]
    {
        let error = Image::new(width, height, vec![0; n]).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn settings_are_honoured_or_refused() {
    let folder = Folder::new("clip-settings");
    let (spec, path) = (Spec::clip(), folder.path("hub"));
    write(&path, &spec, 3, DType::F32);
    let config =
        |text: &str, images: &str| std::fs::write(path.join("config.json"), spec.config(text, images)).unwrap();
    for (text, images, words) in [
        (r#", "hidden_act": "mish""#, "", "hidden_act: is 'mish': quick_gelu, gelu, gelu_new"),
        ("", r#", "hidden_act": "mish""#, "vision_config.hidden_act: is 'mish'"),
        ("", r#", "num_channels": 1"#, "vision_config.num_channels: is 1: 3 is known"),
        ("", r#", "patch_size": 6"#, "vision_config.patch_size: is 6: a divisor of the image's 20 pixels is known"),
        ("", r#", "patch_size": 10"#, "patch_embedding.weight' is [5, 5, 3, 64] f32: [10, 10, 3, 64] is expected"),
        ("", r#", "image_size": 25"#, "crop_size: is {\"height\":20,\"width\":20}: the model's 25 pixels is valid"),
        ("", r#", "vision_use_head": false"#, "vision_config.vision_use_head: is false: true is known"),
        (r#", "projection_dim": 23"#, "", "projection_dim: is 24, and in text_config 23: one value is valid"),
        (r#", "is_decoder": true"#, "", "is_decoder: is true: false is supported"),
    ] {
        config(text, images);
        let error = refused(&path);
        assert!(error.contains(words), "{error}");
    }
    config("", r#", "shape_of_eyes": 3, "dropout": 0.0"#);
    let warnings = open(&path).warnings();
    assert!(
        warnings.len() == 1
            && warnings[0].contains("vision_config: fields that are not known are ignored: shape_of_eyes"),
        "{warnings:?}"
    );
    config("", r#", "hidden_act": "gelu""#);
    let (gelu, tensors) = (open(&path), spec.tensors(3, DType::F32));
    let off = error(&gelu.embed_images(&[image(&spec, 1)]).unwrap()[0], &spec.image(&tensors, &pixels(20, 20, 1)));
    assert!(off > 1e-4, "{off:e}");
    config("", "");
    let prepared = |field: &str| write_preparation(&path, &spec, field);
    for (field, words) in [
        (r#""resample": 4"#, "resample: is 4: 0 (nearest), 1 (lanczos), 2 (bilinear) or 3 (bicubic) is valid"),
        (r#""crop_size": 18"#, "crop_size: is 18: the model's 20 pixels is valid"),
        (r#""size": {"longest_edge": 20}"#, "size: is {\"longest_edge\":20}: a number of pixels, or an object"),
        (r#""size": 0"#, "size: is 0"),
        (r#""image_mean": [1, 2]"#, "image_mean: is [1,2]: a list of 3 numbers"),
        (r#""image_std": [1, 0, 1]"#, "image_std: is [1,0,1]: a list of 3 numbers other than 0"),
        (r#""do_center_crop": false, "size": {"height": 18, "width": 20}"#, "the model's 20 pixels is valid"),
        (r#""rescale_factor": "x""#, "rescale_factor: is \"x\": a number is valid"),
        (r#""do_pad": true"#, "do_pad: is true: false is supported"),
        (r#""do_resize": 1"#, "do_resize: is 1: true or false is valid"),
    ] {
        prepared(field);
        let error = refused(&path);
        assert!(error.contains(words), "{field}: {error}");
    }
    prepared(r#""do_resize": false, "do_center_crop": false"#);
    let error = open(&path).embed_images(&[Image::new(3, 20, pixels(3, 20, 1)).unwrap()]).unwrap_err().to_string();
    assert!(error.contains("3 x 20 pixels") && error.contains("20 x 20 is valid"), "{error}");
    std::fs::remove_file(path.join("preprocessor_config.json")).unwrap();
    let texts_alone = open(&path);
    assert_eq!(texts_alone.embed(&["w1 w2"]).unwrap()[0].len(), spec.outputs);
    let error = texts_alone.embed_images(&[image(&spec, 1)]).unwrap_err().to_string();
    assert!(error.contains("no preprocessor_config.json"), "{error}");
}

#[test]
fn tensors_that_are_not_read_are_reported() {
    let (folder, spec) = (Folder::new("clip-left"), Spec::clip());
    let mut tensors = spec.tensors(3, DType::F32);
    for name in ["vision_model.encoder.layers.9.mlp.fc1.bias", "vision_model.embeddings.position_ids", "logit_scale"] {
        tensors.add_values(name, &[1.0]);
    }
    spec.write_folder(&folder.path("hub"), &tensors);
    let warnings = open(&folder.path("hub")).warnings();
    assert!(
        warnings.len() == 1 && warnings[0].ends_with(": 'vision_model.encoder.layers.9.mlp.fc1.bias'"),
        "{warnings:?}"
    );
}

#[test]
fn models_of_texts_take_no_images() {
    let (folder, spec) = (Folder::new("clip-none"), crate::common::encoder::Spec::new());
    let path = folder.path("hub");
    crate::common::encoder_files::write_folder(&path, &spec, &spec.tensors(5, DType::F32), "bert", "");
    let encoder = open(&path);
    assert!(!encoder.has_images());
    let error = encoder.embed_images(&[Image::new(1, 1, vec![1, 2, 3]).unwrap()]).unwrap_err();
    assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("texts alone"), "{error}");
}

/// Images of many sizes, together and alone: those of whole patches as they are, with positions for their grid.
#[test]
fn images_of_any_size_have_the_vectors_of_double_precision() {
    let (folder, spec) = (Folder::new("siglip2-sizes"), Spec::siglip2());
    for dtype in [DType::F32, DType::BF16] {
        let path = folder.path(&dtype.to_string());
        let tensors = write(&path, &spec, 3, dtype);
        let as_they_are = spec.preparation().replace("\"do_resize\": true", "\"do_resize\": false");
        std::fs::write(path.join("preprocessor_config.json"), as_they_are).unwrap();
        let encoder = open(&path);
        assert_eq!(encoder.warnings(), [""; 0]);
        // One patch, fewer than the grid of training and more, in rows and in columns.
        let sizes = [(20, 20), (5, 5), (30, 15), (10, 45), (90, 5), (5, 90), (20, 20), (15, 10)];
        let pixels: Vec<Vec<u8>> =
            sizes.iter().enumerate().map(|(seed, (width, height))| pixels(*width, *height, seed)).collect();
        let image = |i: usize| Image::new(sizes[i].0 as u32, sizes[i].1 as u32, pixels[i].clone()).unwrap();
        let images: Vec<Image> = (0..sizes.len()).map(image).collect();
        let together = encoder.embed_images(&images).unwrap();
        for (i, found) in together.iter().enumerate() {
            let off = error(found, &spec.image_of(&tensors, &pixels[i], sizes[i].0));
            assert!(off < 1e-4, "{dtype} {:?}: {off:e}", sizes[i]);
            let alone = encoder.embed_images(&images[i..i + 1]).unwrap();
            assert!(alone[0].iter().zip(found).all(|(a, b)| (a - b).abs() <= 1e-5), "{:?}", sizes[i]);
        }
        for (width, height, words) in [(12, 10, "12 x 10 pixels"), (25, 20, "up to 18 of them, are valid")] {
            let other = Image::new(width, height, vec![7; (width * height * 3) as usize]).unwrap();
            let error = encoder.embed_images(&[other]).unwrap_err();
            assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains(words), "{error}");
        }
    }
}

/// Other images are resized in their proportions. What is resized to the size that it has stays, so that sizes of the
/// published rule can be compared.
#[test]
fn images_of_any_size_keep_their_proportions() {
    let (folder, spec) = (Folder::new("siglip2-resized"), Spec::siglip2());
    let (path, by_hand) = (folder.path("hub"), folder.path("hand"));
    let tensors = write(&path, &spec, 3, DType::F32);
    write(&by_hand, &spec, 3, DType::F32);
    let encoder = open(&path);
    // 18 patches of 5 pixels: 6 x 3 of them have twice the width.
    let wide = pixels(30, 15, 1);
    let found = encoder.embed_images(&[Image::new(30, 15, wide.clone()).unwrap()]).unwrap();
    assert!(error(&found[0], &spec.image_of(&tensors, &wide, 30)) < 1e-4);
    // An image of one colour stays one, so its vector is that of its grid of patches alone.
    let plain = |width: usize, height: usize| [9u8, 200, 77].repeat(width * height);
    for (from, to) in [((60, 30), (30, 15)), ((11, 300), (5, 90)), ((1, 1), (20, 20)), ((400, 380), (20, 20))] {
        let image = Image::new(from.0 as u32, from.1 as u32, plain(from.0, from.1)).unwrap();
        let off =
            error(&encoder.embed_images(&[image]).unwrap()[0], &spec.image_of(&tensors, &plain(to.0, to.1), to.0));
        assert!(off < 1e-4, "{from:?}: {off:e}");
    }
}

#[test]
fn settings_of_images_of_any_size() {
    let folder = Folder::new("siglip2-settings");
    let (spec, path) = (Spec::siglip2(), folder.path("hub"));
    write(&path, &spec, 3, DType::F32);
    let config =
        |text: &str, images: &str| std::fs::write(path.join("config.json"), spec.config(text, images)).unwrap();
    for (images, words) in [
        (r#", "num_patches": 17"#, "vision_config.num_patches: is 17: a square number, such as 256, is valid"),
        (r#", "num_patches": 25"#, "position_embedding.weight' is [48, 16] f32: [48, 25] is expected"),
        (r#", "patch_size": 7"#, "patch_size: is 5: the model's 7 pixels is valid"),
        (r#", "image_size": 20"#, ""),
    ] {
        config("", images);
        match words {
            "" => assert!(open(&path).warnings()[0].ends_with("ignored: image_size")),
            _ => assert!(refused(&path).contains(words), "{}", refused(&path)),
        }
    }
    config("", "");
    let prepared = |field: &str| write_preparation(&path, &spec, field);
    for (field, words) in [
        (r#""patch_size": 16"#, "patch_size: is 16: the model's 5 pixels is valid"),
        (r#""max_num_patches": 0"#, "max_num_patches: is 0: a whole number from 1"),
        (r#""resample": 9"#, "resample: is 9: 0 (nearest)"),
        (r#""image_std": [1, 0, 1]"#, "image_std: is [1,0,1]: a list of 3 numbers other than 0"),
    ] {
        prepared(field);
        assert!(refused(&path).contains(words), "{field}: {}", refused(&path));
    }
    // Sizes and cuts are of no use to the published code, and it has usual values for the rest.
    prepared(r#""size": null, "crop_size": null, "image_mean": null, "image_std": null, "resample": null"#);
    assert_eq!(open(&path).warnings(), [""; 0]);
    let square = folder.path("square");
    write(&square, &Spec::siglip(), 3, DType::F32);
    write_preparation(&square, &Spec::siglip(), r#""max_num_patches": 256"#);
    assert!(refused(&square).contains("max_num_patches: is 256: models of images of one size have none"));
}

/// The tokenizer's own token fills texts up, and SigLIP 2's class turns them into lower case.
#[test]
fn texts_are_padded_by_the_tokenizer() {
    let (folder, spec) = (Folder::new("siglip2-texts"), Spec::siglip2());
    let path = folder.path("hub");
    let tensors = write(&path, &spec, 3, DType::F32);
    let config = |text: &str| std::fs::write(path.join("tokenizer_config.json"), text).unwrap();
    config(r#"{"pad_token": "w4", "tokenizer_class": "GemmaTokenizer"}"#);
    let encoder = open(&path);
    assert_eq!(encoder.tokenize("W3").unwrap().0, [0]);
    let found = encoder.embed_tokens(&[vec![3, 5]], |_| true).unwrap();
    let mut tokens = vec![3, 5];
    tokens.resize(spec.positions, 4);
    assert!(error(&found[0], &spec.text(&tensors, &tokens)) < 1e-4);
    config(r#"{"pad_token": "w4", "tokenizer_class": "Siglip2Tokenizer"}"#);
    assert_eq!(open(&path).tokenize("W3").unwrap().0, [3]);
}
