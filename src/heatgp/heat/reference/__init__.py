"""Heat kernels through reference points."""
