//! Destinations of `quantize`: standard output, links, and files that must not be replaced.

use crate::common::*;
use std::path::Path;
use std::process::Stdio;

#[test]
fn a_dash_is_standard_output() {
    let folder = Folder::new("output-dash");
    let (input, output, temporary) = (folder.path("m.gguf"), folder.path("q.gguf"), folder.path("tmp"));
    small_model(&input);
    std::fs::create_dir(&temporary).unwrap();
    tool(&["quantize", &input, &output, "--type", "q4_k"]).expect(0, &[]);
    let run = |more: &[&str]| {
        let args = [&["quantize", &input, "-", "--type", "q4_k"][..], more].concat();
        command(&args).current_dir(&folder.0).env("TMPDIR", &temporary).output().unwrap()
    };
    let ended = run(&[]);
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    assert_eq!(ended.stdout, std::fs::read(&output).unwrap());
    assert!(String::from_utf8(ended.stderr).unwrap().contains("5 tensors"));
    assert_eq!(run(&["--quiet"]).stderr, b"");
    // Nothing is sent if the file cannot be finished.
    let ended = run(&["--keep", "rows10*=q4_0"]);
    assert_eq!((ended.status.code(), ended.stdout.as_slice()), (Some(1), &b""[..]));
    let ended = run(&["--split-size", "4K"]);
    assert_eq!((ended.status.code(), ended.stdout.as_slice()), (Some(2), &b""[..]));
    assert!(String::from_utf8(ended.stderr).unwrap().contains("has no parts"));
    assert!(String::from_utf8(run(&["--dry-run"]).stdout).unwrap().contains("nothing was written"));
    assert_eq!(folder.names(), ["m.gguf", "q.gguf", "tmp"]);
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
    // A folder in the path selects a file of that name.
    let ended = command(&["quantize", "m.gguf", "./-", "--type", "q4_k"]).current_dir(&folder.0).output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    assert!(folder.names().contains(&"-".to_string()));
    tool(&["inspect", "-"]).expect(2, &["standard input cannot be read", "./-"]);
    tool(&["quantize", "-", &output, "--type", "q4_k"]).expect(2, &["standard input cannot be read"]);
}

#[test]
fn a_reader_that_has_gone_is_no_failure() {
    let folder = Folder::new("output-gone");
    let (input, temporary) = (folder.path("m.gguf"), folder.path("tmp"));
    let x = values(1 << 20, 0);
    write_gguf(&input, &[("w", &[1024, 1024], &x)]);
    std::fs::create_dir(&temporary).unwrap();
    let mut quantize = command(&["quantize", &input, "-", "--type", "f32", "--quiet"]);
    let mut child = quantize.env("TMPDIR", &temporary).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
}

/// The target of a link is replaced, and the link stays.
#[cfg(unix)]
#[test]
fn links_are_followed() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new("output-links");
    let (input, link) = (folder.path("m.gguf"), folder.path("link.gguf"));
    small_model(&input);
    std::fs::create_dir(folder.path("store")).unwrap();
    let target = folder.path("store/real.gguf");
    std::fs::write(&target, b"precious").unwrap();
    symlink("store/real.gguf", folder.path("middle.gguf")).unwrap();
    symlink("middle.gguf", &link).unwrap();
    let run = |out: &str, more: &[&str]| tool(&[&["quantize", &input, out, "--type", "q4_k"][..], more].concat());
    run(&link, &[]).expect(3, &["exists already", "--force"]);
    assert_eq!(std::fs::read(&target).unwrap(), b"precious");
    run(&link, &["--force"]).expect(0, &["link.gguf: 5 tensors"]);
    assert!(Path::new(&link).is_symlink() && Path::new(&folder.path("middle.gguf")).is_symlink());
    assert!(!Path::new(&target).is_symlink());
    tool(&["inspect", &target]).expect(0, &["q4_K"]);
    assert_eq!(std::fs::read_dir(folder.path("store")).unwrap().count(), 1);
    // Links to nothing, in a cycle, to the input, to a folder.
    for (name, to, code, word) in [
        ("dangling", "none/such", 3, "a symbolic link to none/such, which cannot be followed"),
        ("circle", "circle", 3, "cannot be followed"),
        ("input", "m.gguf", 2, "is the input as well"),
        ("folder", "store", 3, "is a folder"),
    ] {
        symlink(to, folder.path(name)).unwrap();
        for more in [&["--force"][..], &[], &["--dry-run"]] {
            run(&folder.path(name), more).expect(code, &[word, "hint"]);
        }
    }
    // Shards have names of their own: they replace no link, and no link redirects them.
    symlink("store/real.gguf", folder.path("p-00001-of-00004.gguf")).unwrap();
    let split = ["--force", "--split-size", "5K"];
    for name in ["p.gguf", "link.gguf"] {
        run(&folder.path(name), &split).expect(3, &["is a symbolic link", "in its place", "hint"]);
    }
    assert!(Path::new(&folder.path("p-00001-of-00004.gguf")).is_symlink());
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_replaced() {
    let folder = Folder::new("output-pipe");
    let (input, pipe) = (folder.path("m.gguf"), folder.path("pipe"));
    small_model(&input);
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let to_pipe = ["quantize", &input, &pipe, "--type", "q4_k", "--force"];
    tool(&to_pipe).expect(3, &["a regular file is valid", "- is standard output"]);
    use std::os::unix::fs::FileTypeExt;
    assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo());
}

#[test]
fn parts_of_any_name_are_not_replaced_without_a_word() {
    let folder = Folder::new("output-parts");
    let input = folder.path("m.gguf");
    small_model(&input);
    for name in ["q.gguf", "r.bin", "s"] {
        let args = ["quantize", &input, &folder.path(name), "--type", "q8_0", "--split-size", "5K"];
        tool(&args).expect(0, &["parts)"]);
        tool(&args).expect(3, &["-00001-of-0000", "exists already"]);
    }
}
