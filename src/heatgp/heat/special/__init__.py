"""Special functions and fast tables that the rooms of `heat` share."""
