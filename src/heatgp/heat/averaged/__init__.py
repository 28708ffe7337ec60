"""Heat kernels averaged over a random time: what Matern kernels are computed by."""
