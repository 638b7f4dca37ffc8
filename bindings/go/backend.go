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

// Device describes something that computes. The numbers are 0 where unknown.
type Device struct {
	Name        string // what NewBackend takes: "cpu"
	Description string // for people: processor or card
	MemoryTotal uint64 // bytes
	MemoryFree  uint64 // bytes that were free at the call
	Capability  int    // CUDA compute capability, 90 = 9.0
	Simulated   bool   // a simulation for tests, not hardware
}

// Devices lists the devices of this machine; "cpu" is always there.
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
// graph at a time and a second caller waits, but backends are independent of
// each other, even on one device. Any number of goroutines may wait: they take no
// thread of the system. Contexts made on it keep it alive in the C library: it may
// be closed before them.
type Backend struct {
	h   *handle
	ptr *C.tl_backend

	turn chan struct{} // has an element while a graph is computed

	device, isa string
	devices     []string
	threads     int
}

// BackendOption changes how [NewBackend] opens a device.
type BackendOption func(*backendParams)

type backendParams struct {
	threads int
	tf32    bool
}

// WithThreads sets the number of threads for CPU work, the calling one included.
// 0, the default, is all that this process may use; at most 1024.
func WithThreads(n int) BackendOption {
	return func(p *backendParams) { p.threads = n }
}

// WithTF32 accepts TF32 products for F32 on CUDA; other devices ignore it.
func WithTF32() BackendOption {
	return func(p *backendParams) { p.tf32 = true }
}

// NewBackend opens a device by its name, as [Devices] lists them; "" is "cpu";
// "cuda:0+cpu" opens both and joins them, as [JoinBackends] does. Close it after
// use.
//
// The environment variable TENSORLIB_ISA, read here, chooses a lower
// instruction set than the best: see [ISAs]. TENSORLIB_TRACE names a file
// for a timeline of the backend's runs (docs/performance/method.md).
//
// Errors: [StatusInvalidArgument] for an unknown device, thread count or instruction set,
// [StatusUnavailable] for one that this machine does not have, [StatusIO] for a
// trace that cannot be written, [StatusOutOfMemory].
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
	// The library checks the range; this only keeps the narrowing from hiding it.
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

// JoinBackends joins backends of different devices to one, which computes graphs
// whose tensors lie on any of them: each node where the fewest bytes are copied
// for it, or where [Tensor.Place] says. Leafs stay where their contexts are, an
// output ends on its context's device. A context made on the joined backend lies
// on the first one's device. The backends may be used meanwhile, and closed before
// it.
//
// Errors: [StatusInvalidArgument] where there are none or more than 32, two of one
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

// Close gives the backend back. It takes effect when calls that use it have
// returned; a second Close does nothing.
func (b *Backend) Close() {
	if b != nil {
		b.h.close()
	}
}

// orNil is b or, for nil, a backend without anything.
func (b *Backend) orNil() *Backend {
	if b == nil {
		return &Backend{}
	}
	return b
}

// Device is the name of the backend's device: "cpu"; of joined ones "cpu+cuda:0";
// "" of a nil backend.
func (b *Backend) Device() string { return b.orNil().device }

// Devices are the names of the devices that it computes on, in the order of
// joining: one, unless it was joined.
func (b *Backend) Devices() []string { return slices.Clone(b.orNil().devices) }

// ISA is the instruction set of the CPU kernels: "avx512".
func (b *Backend) ISA() string { return b.orNil().isa }

// Threads is the number of threads that compute, the calling one included.
func (b *Backend) Threads() int { return b.orNil().threads }

// PackedMemory is the number of bytes of packed copies of constants, which no
// context counts; 0 after Close. A copy is made when a graph that multiplies
// with a constant is first computed, and goes with the backend or with the
// constant's context.
func (b *Backend) PackedMemory() uint64 {
	if b.enter() != nil {
		return 0
	}
	defer b.leave()
	return uint64(C.tl_backend_packed_memory(b.ptr))
}

// Compute computes the outputs once. For more runs make a [Graph], which keeps
// its plan. The graph's memory is of the first output's context.
//
// Errors: those of [NewGraph] and [Graph.Compute].
func (b *Backend) Compute(outputs ...*Tensor) error {
	return b.ComputeContext(context.Background(), outputs...)
}

// ComputeContext is [Backend.Compute] that ends when ctx does, as
// [Graph.ComputeContext] says.
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
