"""Heat kernels: methods make them, nothing here knows of data y."""
