"""Libraries that warn of themselves when they are imported are imported here, without exactly these warnings."""

import warnings

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated", DeprecationWarning)
    import botorch  # noqa: F401
    import gpytorch  # noqa: F401
