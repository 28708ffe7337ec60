"""The spaces of the library, one family a file."""
