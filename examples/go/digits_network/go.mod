module tensorlib/examples/go/digits_network

go 1.24

require tensorlib/bindings/go v0.0.0

replace tensorlib/bindings/go => ../../../bindings/go
