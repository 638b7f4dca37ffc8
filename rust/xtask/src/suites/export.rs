//! What the library exposes: its symbols, its dependencies, and that the three lists of functions (Rust declarations, C
//! header, exports) are the same.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::builds;
use crate::suite::Run;
use crate::workspace::Workspace;

pub fn run(run: &mut Run) -> Result<(), String> {
    let build = builds::library(run, true)?;
    let library = build.join("capi/libtensorlib.so");
    let ws = run.ws;
    let exported = exports(ws, &library)?;
    let foreign: Vec<_> = exported.iter().filter(|name| !name.starts_with("tl_")).cloned().collect();
    run.check("only tl_ symbols are exported", nothing(&foreign, "exported too"));
    let (declared, header) = (declared_in_rust(ws)?, prototypes(ws)?);
    run.check(&format!("{} declarations, prototypes", declared.len()), same(&declared, &header, "the header"));
    run.check(&format!("{} declarations, exports", declared.len()), same(&declared, &exported, "the exports"));
    run.check("needs libc and libm only", needed(ws, &library, &[]));
    run.check("SIMD objects have no weak symbols but their own ISA's, and no initialisers", simd_objects(ws, &build));
    Ok(())
}

/// The names that a shared library exports.
pub fn exports(ws: &Workspace, library: &Path) -> Result<BTreeSet<String>, String> {
    let listed = ws.cmd("nm").args(["-D", "--defined-only"]).arg(library).capture()?;
    let symbols = listed.lines().filter_map(|line| {
        let mut words = line.split_whitespace().rev();
        let (name, kind) = (words.next()?, words.next()?);
        // An absolute symbol is the version script's own node.
        (kind != "A").then(|| name.split('@').next().unwrap_or(name).to_string())
    });
    Ok(symbols.collect())
}

fn declared_in_rust(ws: &Workspace) -> Result<BTreeSet<String>, String> {
    let mut names = BTreeSet::new();
    for file in ws.files_of(&[".rs"], &["rust/tensorlib-sys/src"])? {
        let text = ws.read(&file)?.unwrap_or_default();
        names.extend(text.lines().filter_map(|l| function_name(l.trim_start().strip_prefix("pub fn ")?)));
    }
    Ok(names)
}

fn prototypes(ws: &Workspace) -> Result<BTreeSet<String>, String> {
    let text = ws.read("capi/include/tensorlib/tensorlib.h")?.unwrap_or_default();
    let lines = text.lines().filter_map(|l| l.strip_prefix("TL_API ")?.split('(').next());
    Ok(lines.filter_map(|l| function_name(l.rsplit([' ', '*']).next()?)).collect())
}

fn function_name(text: &str) -> Option<String> {
    let name: String = text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    name.starts_with("tl_").then_some(name)
}

/// Fails if two lists of functions differ, naming the differences.
pub fn same(declared: &BTreeSet<String>, other: &BTreeSet<String>, place: &str) -> Result<(), String> {
    let missing: Vec<_> = declared.difference(other).cloned().collect();
    let surplus: Vec<_> = other.difference(declared).cloned().collect();
    nothing(&missing, &format!("not in {place}"))?;
    nothing(&surplus, &format!("only in {place}"))?;
    if declared.is_empty() {
        Err("no function was found at all".into())
    } else {
        Ok(())
    }
}

fn nothing(names: &[String], what: &str) -> Result<(), String> {
    if names.is_empty() {
        Ok(())
    } else {
        Err(format!("{what}: {}", names.join(", ")))
    }
}

/// Fails if a library needs libraries other than libc, libm and `more`.
pub fn needed(ws: &Workspace, library: &Path, more: &[&str]) -> Result<(), String> {
    let dynamic = ws.cmd("readelf").args(["-d", "-W"]).arg(library).capture()?;
    let needed = dynamic.lines().filter(|l| l.contains("(NEEDED)")).filter_map(|l| l.split(['[', ']']).nth(1));
    let allowed = |name: &str| ["libc.so.", "libm.so.", "ld-linux"].iter().chain(more).any(|a| name.starts_with(a));
    nothing(&needed.filter(|n| !allowed(n)).map(String::from).collect::<Vec<_>>(), "needed too")
}

/// For a weak symbol of an object compiled for AVX-512, the linker may keep that definition for everybody, unless it is
/// in its ISA's own namespace; and an initialiser runs before anyone has checked the CPU. Both end in an illegal
/// instruction.
fn simd_objects(ws: &Workspace, build: &Path) -> Result<(), String> {
    let mut objects = Vec::new();
    find_simd_objects(build, false, &mut objects)?;
    if objects.is_empty() {
        return Err(format!("no object of a tensorlib_simd_* library in {}", build.display()));
    }
    let mut wrong = Vec::new();
    for object in &objects {
        let name = object.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for line in ws.cmd("nm").args(["--defined-only", "-f", "posix"]).arg(object).capture()?.lines() {
            let mut words = line.split(' ');
            let (symbol, kind) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
            let weak = ["W", "w", "V", "v", "u"].contains(&kind) && !is_of_an_isa(symbol);
            if weak || symbol.starts_with("_GLOBAL__sub_I") {
                wrong.push(format!("{name}: {symbol} ({kind})"));
            }
        }
        if ws.cmd("readelf").args(["-S", "-W"]).arg(object).capture()?.contains(".init_array") {
            wrong.push(format!("{name}: .init_array"));
        }
    }
    nothing(&wrong, &format!("of {} objects", objects.len()))
}

/// Whether a mangled name belongs to tensorlib::core::simd::<isa>, and so to a single instruction set.
fn is_of_an_isa(symbol: &str) -> bool {
    const NAMESPACE: &str = "9tensorlib4core4simd";
    let Some(at) = symbol.find(NAMESPACE) else { return false };
    // _ZN, and more for a const method (_ZNK) or a variable of a function (_ZZN).
    let of_it = symbol[..at].chars().skip(1).all(|c| "ZNK".contains(c));
    // The ISA's name and a member follow; the table that all ISAs share has neither.
    let rest = symbol[at + NAMESPACE.len()..].trim_start_matches(|c: char| c.is_ascii_digit());
    of_it && ["avx512", "avx2", "baseline"].iter().any(|isa| rest.starts_with(isa))
}

fn find_simd_objects(dir: &Path, inside: bool, found: &mut Vec<PathBuf>) -> Result<(), String> {
    for entry in std::fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            find_simd_objects(&path, inside || name.starts_with("tensorlib_simd_"), found)?;
        } else if inside && name.ends_with(".o") {
            found.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::is_of_an_isa;

    #[test]
    fn symbols_of_an_isa_are_told_apart() {
        assert!(is_of_an_isa("_ZN9tensorlib4core4simd6avx5124Q4_010decode_runERKNS3_5BlockEiPf"));
        assert!(is_of_an_isa("_ZNK9tensorlib4core4simd8baseline8encoding3FitE"));
        assert!(is_of_an_isa("_ZZN9tensorlib4core4simd4avx24nearEvE5table"));
        assert!(!is_of_an_isa("_ZN9tensorlib4core4simd9SimdTableC2Ev"));
        assert!(!is_of_an_isa("_ZN9tensorlib4core4Q4_010decode_runEv"));
        assert!(!is_of_an_isa("_ZSt4swapIN9tensorlib4core4simd4avx23VecEEvv"));
        assert!(!is_of_an_isa("memcpy"));
    }
}
