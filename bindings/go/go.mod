module tensorlib/bindings/go

go 1.24
