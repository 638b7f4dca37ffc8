package tensorlib

// #include <tensorlib/tensorlib.h>
import "C"

// Version returns the C library's version: "0.1.0".
func Version() string { return C.GoString(C.tl_version()) }

// checkABI fails if the loaded library does not fit the header that this package
// was compiled against, instead of crashing later.
func checkABI() error {
	return compareABI(C.TL_ABI_VERSION, uint32(C.tl_abi_version()))
}

// compareABI applies the rule of the header's tl_abi_version: the same major and
// the same or a later minor version.
func compareABI(header, library uint32) error {
	if header>>16 == library>>16 && header&0xffff <= library&0xffff {
		return nil
	}
	return errorf(StatusUnavailable,
		"the tensorlib library has ABI %d.%d, this program needs %d.%d or a later minor version: build one of them again",
		library>>16, library&0xffff, header>>16, header&0xffff)
}
