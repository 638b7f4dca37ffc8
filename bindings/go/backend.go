package tensorlib

// #include <stdlib.h>
// #include <tensorlib/tensorlib.h>
import "C"

import (
	"context"
	"runtime"
	"slices"
	"unsafe"
)

// Device describes a device. Numbers are 0 if unknown.
type Device struct {
	Name        string // the name for NewBackend: "cpu"
	Description string // processor or card, for display
	MemoryTotal uint64 // bytes
	MemoryFree  uint64 // bytes that were free at the call
	Capability  int    // CUDA compute capability, 90 = 9.0
	Simulated   bool   // a simulation for tests, not hardware
}

// Devices lists the devices of this machine; "cpu" is always among them.
func Devices() ([]Device, error) {
	devices := make([]Device, C.tl_device_count())
	for i := range devices {
		props := C.tl_device_props{struct_size: C.sizeof_tl_device_props}
		cerr := newCError()
		if err := check(C.tl_device_get_props(C.size_t(i), &props, &cerr), &cerr); err != nil {
			return nil, err
		}
		devices[i] = Device{
			Name:        C.GoString(C.tl_device_name(C.size_t(i))),
			Description: C.GoString(&props.description[0]),
			MemoryTotal: uint64(props.memory_total),
			MemoryFree:  uint64(props.memory_free),
			Capability:  int(props.capability),
			Simulated:   bool(props.simulated),
		}
	}
	return devices, nil
}

// ISAs lists the instruction sets that this CPU can run, best first: the
// values that the environment variable TENSORLIB_ISA accepts here.
func ISAs() []string {
	isas := make([]string, C.tl_isa_count())
	for i := range isas {
		isas[i] = C.GoString(C.tl_isa_name(C.size_t(i)))
	}
	return isas
}

// Backend is a device opened for computing, with its own threads. It runs one
// graph at a time and a second caller waits, but backends are independent of each
// other, even on one device. Any number of goroutines may wait: they hold no
// threads of the system. Contexts made on a backend keep it alive in the C
// library, so it may be closed before them. All methods may be called from any
// goroutine.
type Backend struct {
	h   *handle
	ptr *C.tl_backend

	turn chan struct{} // has an element while a graph is computed

	device, isa string
	devices     []string
	threads     int
}

// BackendOption is an option of [NewBackend].
type BackendOption func(*backendParams)

type backendParams struct {
	threads int
	tf32    bool
}

// WithThreads sets the number of threads for CPU work, including the calling
// thread. 0, the default, means all that this process may use; at most 1024.
func WithThreads(n int) BackendOption {
	return func(p *backendParams) { p.threads = n }
}

// WithTF32 allows TF32 for F32 products on CUDA; other devices ignore it.
func WithTF32() BackendOption {
	return func(p *backendParams) { p.tf32 = true }
}

// NewBackend opens a device by its name, as [Devices] lists it; "" is "cpu", and
// "cuda:0+cpu" opens both and joins them, as [JoinBackends] does. Close it after
// use.
//
// The environment variable TENSORLIB_ISA, read here, selects an instruction set
// other than the best one: see [ISAs]. TENSORLIB_TRACE names a file for a
// timeline of the backend's runs (docs/performance/method.md).
//
// Errors: [StatusInvalidArgument] for an unknown device, instruction set or
// number of threads, [StatusUnavailable] if this machine does not have it,
// [StatusIO] for a trace that cannot be written, [StatusOutOfMemory].
func NewBackend(device string, options ...BackendOption) (*Backend, error) {
	if err := checkABI(); err != nil {
		return nil, err
	}
	var given backendParams
	for i, option := range options {
		if option == nil {
			return nil, invalid("backend: option %d is nil", i)
		}
		option(&given)
	}
	// The library checks the range; this only rejects numbers that an int32 would
	// change.
	if int64(int32(given.threads)) != int64(given.threads) {
		return nil, invalid("backend: %d threads: must be 0 to 1024", given.threads)
	}
	var params C.tl_backend_params
	C.tl_backend_params_init(&params, C.sizeof_tl_backend_params)
	params.n_threads = C.int32_t(given.threads)
	params.allow_tf32 = C.bool(given.tf32)
	var cdevice *C.char
	if device != "" {
		var err error
		if cdevice, err = cstring("backend: device", device); err != nil {
			return nil, err
		}
		defer C.free(unsafe.Pointer(cdevice))
	}
	var ptr *C.tl_backend
	cerr := newCError()
	if err := check(C.tl_backend_create(cdevice, &params, &ptr, &cerr), &cerr); err != nil {
		return nil, err
	}
	return newBackend(ptr), nil
}

// JoinBackends joins backends of different devices into one, which computes
// graphs whose tensors lie on any of them. Each node is computed where the fewest
// bytes have to be copied for it, or where [Tensor.Place] says. Leafs stay on
// their contexts' devices, and an output ends on its context's device. A context
// made on the joined backend lies on the first device. The joined backends stay
// usable, and may be closed before it.
//
// Errors: [StatusInvalidArgument] for no backends or more than 32, two of one
// device, or one that is joined itself; [StatusUnavailable] in a forked process.
func JoinBackends(backends ...*Backend) (*Backend, error) {
	ptrs := make([]*C.tl_backend, len(backends))
	for i, b := range backends {
		if err := b.enter(); err != nil {
			return nil, err
		}
		defer b.leave()
		ptrs[i] = b.ptr
	}
	var ptr *C.tl_backend
	cerr := newCError()
	if err := check(C.tl_backend_join(unsafe.SliceData(ptrs), C.size_t(len(ptrs)), nil, &ptr, &cerr), &cerr); err != nil {
		return nil, err
	}
	return newBackend(ptr), nil
}

func newBackend(ptr *C.tl_backend) *Backend {
	b := &Backend{
		h:       &handle{what: "backend", free: func() { C.tl_backend_free(ptr) }},
		ptr:     ptr,
		device:  C.GoString(C.tl_backend_device(ptr)),
		isa:     C.GoString(C.tl_backend_isa(ptr)),
		threads: int(C.tl_backend_n_threads(ptr)),
		turn:    make(chan struct{}, 1),
	}
	for i := range C.tl_backend_n_devices(ptr) {
		b.devices = append(b.devices, C.GoString(C.tl_backend_device_at(ptr, i)))
	}
	runtime.AddCleanup(b, (*handle).close, b.h)
	return b
}

// Close releases the backend. It takes effect when calls that use the backend
// have returned; a second Close does nothing.
func (b *Backend) Close() {
	if b != nil {
		b.h.close()
	}
}

// orNil returns b or, for nil, an empty backend.
func (b *Backend) orNil() *Backend {
	if b == nil {
		return &Backend{}
	}
	return b
}

// Device returns the name of the backend's device: "cpu", or "cpu+cuda:0" for a
// joined backend; "" for a nil backend.
func (b *Backend) Device() string { return b.orNil().device }

// Devices returns the names of the devices that the backend computes on, in the
// order of joining: one name unless it was joined.
func (b *Backend) Devices() []string { return slices.Clone(b.orNil().devices) }

// ISA returns the instruction set of the CPU kernels: "avx512".
func (b *Backend) ISA() string { return b.orNil().isa }

// Threads returns the number of threads that compute, including the calling
// thread.
func (b *Backend) Threads() int { return b.orNil().threads }

// PackedMemory returns the number of bytes of packed copies of constants, which
// no context counts; 0 after Close. The backend makes a copy when it first
// computes a graph that multiplies with a constant, and frees it when it is
// closed or the constant's context is.
func (b *Backend) PackedMemory() uint64 {
	if b.enter() != nil {
		return 0
	}
	defer b.leave()
	return uint64(C.tl_backend_packed_memory(b.ptr))
}

// Compute computes the outputs once. Make a [Graph], which keeps its plan, for
// several runs. The graph's memory belongs to the first output's context.
//
// Errors: those of [NewGraph] and [Graph.Compute].
func (b *Backend) Compute(outputs ...*Tensor) error {
	return b.ComputeContext(context.Background(), outputs...)
}

// ComputeContext is [Backend.Compute] that ends when ctx does; see
// [Graph.ComputeContext].
func (b *Backend) ComputeContext(ctx context.Context, outputs ...*Tensor) error {
	if len(outputs) == 0 || outputs[0] == nil {
		return invalid("compute: there is no output")
	}
	g, err := NewGraph(outputs[0].ctx, outputs...)
	if err != nil {
		return err
	}
	defer g.Close()
	return g.ComputeContext(ctx, b)
}

func (b *Backend) enter() error {
	if b == nil {
		return invalid("backend is nil: make one first")
	}
	return b.h.enter("backend")
}

func (b *Backend) leave() {
	b.h.leave()
	runtime.KeepAlive(b)
}
