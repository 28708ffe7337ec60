"""The smooth estimate of the heat kernel of a symmetric space."""
