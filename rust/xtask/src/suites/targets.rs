//! Targets other than this machine: Windows by MinGW-w64, with programs run under Wine; and 32-bit targets, which
//! report that they are not supported.

use std::path::{Path, PathBuf};

use crate::builds::{self, MINGW_C};
use crate::counts::Style;
use crate::process::{on_path, Cmd};
use crate::suite::Run;
use crate::suites::expect;
use crate::system;
use crate::tools;
use crate::workspace::{make_dir, remove_dir};

pub fn run(run: &mut Run) -> Result<(), String> {
    windows(run)?;
    let refused = refuses_32_bits(run);
    run.check("32-bit targets: header, CMake and crate say that they are not supported", refused);
    Ok(())
}

fn windows(run: &mut Run) -> Result<(), String> {
    system::tool(MINGW_C, "g++-mingw-w64-x86-64-posix")?;
    let wine = wine()?;
    let build = builds::windows(run)?;
    let dll = build.join("capi/libtensorlib.dll");
    let listed = run.ws.cmd("x86_64-w64-mingw32-objdump").arg("-p").arg(&dll).capture()?;
    run.check("Windows: only tl_ symbols are exported", exports_tl_alone(&listed));
    run.check("Windows: no DLL of the compiler is needed", needs_system_dlls_alone(&listed));

    let folder = run.ws.out.join("windows-programs");
    remove_dir(&folder)?;
    make_dir(&folder)?;
    std::fs::copy(&dll, folder.join("libtensorlib.dll")).map_err(|e| format!("{}: {e}", dll.display()))?;
    let ws = run.ws;
    let under = |program: &Path| {
        // Wine uses the locale for file names.
        let quiet = [("WINEDEBUG", "-all"), ("WINEDLLOVERRIDES", "mscoree,mshtml="), ("LC_ALL", "C.UTF-8")];
        ws.cmd(&wine).arg(program).dir(&folder).env("WINEPREFIX", ws.out.join("wine")).envs(&quiet)
    };
    let quickstart = compile(run, &build, &folder, "quickstart")?;
    // The first program makes Wine create its folder.
    let printed = run.step(under(&quickstart)).and_then(|out| {
        let numbers: Vec<_> = out.text.lines().filter(|l| l.starts_with(|c: char| c.is_ascii_digit())).collect();
        expect::expect(&numbers.join("\n").replace('\r', ""), expect::QUICKSTART.trim_end())
    });
    run.check("Windows: quickstart", printed);
    let paths = compile(run, &build, &folder, "utf8_paths")?;
    run.tests("Windows: UTF-8 paths", Style::Status, under(&paths))?;
    let names: Vec<_> = std::fs::read_dir(&folder)
        .map_err(|e| format!("{}: {e}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect();
    let has_name = names.iter().any(|name| name == "tensorlib_\u{fc}\u{20ac}_\u{65e5}.gguf");
    run.check("Windows: the file has the name", if has_name { Ok(()) } else { Err(names.join(", ")) });
    let cases = compile(run, &build, &folder, "cases")?;
    let files = ws.root.join("tests/cases");
    run.tests("Windows: C cases", Style::Cases, under(&cases).arg(format!("Z:{}", files.display())))
}

/// Debian's package without the wrapper keeps the program out of the PATH.
fn wine() -> Result<PathBuf, String> {
    let find = || {
        let named = ["wine64", "wine"].into_iter().find_map(on_path);
        named.or_else(|| Some(PathBuf::from("/usr/lib/wine/wine64")).filter(|path| path.is_file()))
    };
    if find().is_none() {
        system::install(&["wine64"], "Wine")?;
    }
    find().ok_or("wine64 was installed, but there is no wine64".into())
}

fn compile(run: &Run, build: &Path, folder: &Path, name: &str) -> Result<PathBuf, String> {
    let (ws, program) = (run.ws, folder.join(format!("{name}.exe")));
    let cc = ws.cmd(MINGW_C).args(["-std=c11", "-O1"]).arg("-I").arg(ws.root.join("capi/include"));
    let cc = cc.arg(ws.root.join("tests/capi").join(format!("{name}.c"))).arg("-o").arg(&program);
    run.step(cc.arg("-L").arg(build.join("capi")).args(["-ltensorlib", "-lm"]))?;
    Ok(program)
}

/// Checks the lines of objdump after "[Ordinal/Name Pointer] Table", each of which ends with an exported name.
fn exports_tl_alone(listed: &str) -> Result<(), String> {
    let table = listed.split("[Ordinal/Name Pointer] Table").nth(1).ok_or("no table of exports")?;
    let names: Vec<_> = table
        .lines()
        .skip(1)
        .take_while(|line| line.trim_start().starts_with('['))
        .filter_map(|line| line.split_whitespace().last())
        .collect();
    let foreign: Vec<_> = names.iter().filter(|name| !name.starts_with("tl_")).copied().collect();
    match (names.is_empty(), foreign.is_empty()) {
        (true, _) => Err("nothing is exported".into()),
        (_, false) => Err(format!("exported too: {}", foreign.join(", "))),
        _ => Ok(()),
    }
}

fn needs_system_dlls_alone(listed: &str) -> Result<(), String> {
    let needed: Vec<_> = listed.lines().filter_map(|line| line.trim().strip_prefix("DLL Name: ")).collect();
    let of_system =
        |name: &&str| ["KERNEL32.dll", "msvcrt.dll", "ucrtbase.dll"].contains(name) || name.starts_with("api-ms-");
    let foreign: Vec<_> = needed.iter().filter(|name| !of_system(name)).copied().collect();
    if foreign.is_empty() && !needed.is_empty() {
        Ok(())
    } else {
        Err(format!("needed too: {}", foreign.join(", ")))
    }
}

fn refuses_32_bits(run: &Run) -> Result<(), String> {
    const SAID: &str = "supports 64-bit targets";
    let says = |what: &str, cmd: Cmd| match cmd.capture() {
        Ok(_) => Err(format!("{what} takes a 32-bit target")),
        Err(message) if message.contains(SAID) => Ok(()),
        Err(message) => Err(format!("{what} fails otherwise:\n{message}")),
    };
    let (ws, folder) = (run.ws, run.ws.out.join("build/32-bit"));
    remove_dir(&folder)?;
    make_dir(&folder)?;
    let source = folder.join("header.c");
    std::fs::write(&source, "#include <tensorlib/tensorlib.h>\n").map_err(|e| format!("{}: {e}", source.display()))?;
    let zig = tools::zig()?.env("ZIG_GLOBAL_CACHE_DIR", ws.out.join("zig/global")).env("ZIG_LOCAL_CACHE_DIR", &folder);
    let header =
        zig.args(["cc", "-target", "x86-linux-gnu", "-c"]).arg(&source).arg("-I").arg(ws.root.join("capi/include"));
    says("the header", header.arg("-o").arg(folder.join("header.o")))?;
    let cmake = ws.cmd("cmake").arg("-S").arg(&ws.root).arg("-B").arg(folder.join("cmake"));
    says(
        "CMake",
        cmake.args([
            "-DCMAKE_SIZEOF_VOID_P=4",
            "-DCMAKE_C_COMPILER_WORKS=1",
            "-DCMAKE_CXX_COMPILER_WORKS=1",
            "-DCMAKE_CXX_FLAGS=-m32",
            "-DCMAKE_C_FLAGS=-m32",
        ]),
    )?;
    // Checks the crate without a 32-bit standard library: the attribute alone decides.
    let library = ws.read("rust/tensorlib-sys/src/lib.rs")?.unwrap_or_default();
    let guarded = library
        .contains("#[cfg(not(target_pointer_width = \"64\"))]\ncompile_error!(\"tensorlib supports 64-bit targets\")");
    if guarded {
        Ok(())
    } else {
        Err("tensorlib-sys has no compile_error! for other widths".into())
    }
}

#[cfg(test)]
mod tests {
    use super::{exports_tl_alone, needs_system_dlls_alone};

    #[test]
    fn exports_and_needs_of_a_dll() {
        let table = "[Ordinal/Name Pointer] Table\n\t[   0] +base[   1] 0000 tl_a\n\t[   1] +base[   2]  tl_b\n\nx\n";
        assert_eq!(exports_tl_alone(table), Ok(()));
        assert!(exports_tl_alone(&table.replace("tl_b", "_Znwm")).is_err());
        assert!(exports_tl_alone("").is_err());
        assert!(exports_tl_alone("[Ordinal/Name Pointer] Table\n\n").is_err());
        assert_eq!(needs_system_dlls_alone("\tDLL Name: KERNEL32.dll\n"), Ok(()));
        assert!(needs_system_dlls_alone("\tDLL Name: KERNEL32.dll\n\tDLL Name: libstdc++-6.dll\n").is_err());
        assert!(needs_system_dlls_alone("").is_err());
    }
}
