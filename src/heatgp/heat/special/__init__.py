"""Special functions and fast tables that the packages of `heat` share."""
