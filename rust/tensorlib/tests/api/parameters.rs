//! Parameters in files: loading restores what was saved; a file that does not fit changes nothing, and the error lists
//! every mismatch.

use std::path::PathBuf;
use tensorlib::nn::{GroupNorm, Init, Linear, Parameters};
use tensorlib::{safetensors, Context, DType, Error};

fn temporary(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tensorlib-parameters-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

fn bits(parameters: &Parameters) -> Vec<Vec<f32>> {
    parameters.tensors().iter().map(|t| t.to_f32_vec().unwrap()).collect()
}

fn model(seed: u64) -> Parameters {
    let parameters = Parameters::new(seed);
    Linear::new(&parameters.scope("hidden"), 3, 5).unwrap();
    Linear::new(&parameters.scope("output"), 5, 2).unwrap();
    parameters
}

#[test]
fn what_was_saved_is_loaded() {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let path = temporary(&format!("saved-{dtype}.safetensors"));
        let with = |seed| {
            let parameters = Parameters::new(seed).with_dtype(dtype).unwrap();
            parameters.make("weight", [7, 3], Init::inputs(7)).unwrap();
            parameters.make("none", [0, 3], Init::Zeros).unwrap();
            parameters
        };
        let (saved, loaded) = (with(1), with(2));
        assert_ne!(bits(&saved), bits(&loaded));
        saved.save(&path).unwrap();
        loaded.load(&path).unwrap();
        assert_eq!(bits(&saved), bits(&loaded));
    }
}

#[test]
fn a_file_that_does_not_fit_says_all_of_it_and_changes_nothing() {
    let path = temporary("other.safetensors");
    let ctx = Context::new();
    let named = |name: &str, shape: &[i64]| {
        let t = ctx.zeros(DType::F32, shape).unwrap();
        t.set_name(name).unwrap();
        t
    };
    let others =
        [named("hidden.weight", &[3, 5]), named("hidden.bias", &[6]), named("extra", &[1]), named("more", &[1])];
    safetensors::write(&path, &others.iter().collect::<Vec<_>>(), &[]).unwrap();
    let parameters = model(1);
    let before = bits(&parameters);
    let error = parameters.load(&path).unwrap_err();
    assert!(matches!(error, Error::InvalidArgument(_)), "{error:?}");
    for words in [
        "it lacks output.weight, output.bias",
        "no parameter is called extra, more",
        "hidden.bias is [5] f32 here and [6] f32 there",
    ] {
        assert!(error.to_string().contains(words), "'{words}' is not in: {error}");
    }
    assert_eq!(bits(&parameters), before);
}

#[test]
fn files_that_are_none_are_errors() {
    let parameters = model(1);
    let missing = parameters.load(temporary("missing.safetensors")).unwrap_err();
    assert!(matches!(missing, Error::Io(_)), "{missing:?}");
    let path = temporary("garbage.safetensors");
    std::fs::write(&path, [7; 100]).unwrap();
    assert!(matches!(parameters.load(&path).unwrap_err(), Error::Format(_)));
    let error = parameters.save(temporary("no/such/folder.safetensors")).unwrap_err();
    assert!(matches!(error, Error::Io(_)), "{error:?}");
}

#[test]
fn senseless_arguments_are_refused_where_they_are_given() {
    let parameters = Parameters::new(1);
    for init in [Init::kaiming(0), Init::kaiming(-3), Init::inputs(0), Init::xavier(0, 0), Init::xavier(-5, 2)] {
        let error = parameters.make("w", [2], init).unwrap_err();
        assert!(
            matches!(error, Error::InvalidArgument(_)) && error.to_string().contains("0 or more"),
            "{init:?}: {error}"
        );
    }
    for groups in [3, 0, -1, 11] {
        let error = GroupNorm::new(&parameters, groups, 10).unwrap_err();
        assert!(error.to_string().contains(&format!("{groups} groups of 10 channels")), "{error}");
    }
    assert!(parameters.names().is_empty(), "{:?}", parameters.names());
    let error = Context::new().tensor([2], &[0., 5.]).unwrap().clamp(2., 1.).unwrap_err();
    assert!(error.to_string().contains("min is 2, max is 1"), "{error}");
}

#[test]
fn errors_of_ones_own() {
    fn parsed(text: &str) -> tensorlib::Result<i64> {
        Ok(text.parse::<i64>()?)
    }
    assert_eq!(parsed("7").unwrap(), 7);
    assert!(matches!(parsed("seven").unwrap_err(), Error::Custom(_)));
    fn read(path: PathBuf) -> tensorlib::Result<Vec<u8>> {
        Ok(std::fs::read(path)?)
    }
    assert!(matches!(read(temporary("missing")).unwrap_err(), Error::Io(_)));
    let error = Error::msg("MyLayer: an even number is valid");
    assert_eq!(error.to_string(), "MyLayer: an even number is valid");
    assert_eq!(error.failure().message, error.to_string());
}
