"""Arguments that the public functions of lib must refuse, one module an area."""
