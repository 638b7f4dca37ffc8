module tensorlib/examples/go/value_and_gradient

go 1.24

require tensorlib/bindings/go v0.0.0

replace tensorlib/bindings/go => ../../../bindings/go
