"""Covariances of near data alone (Vecchia's approximation), for many data of rough functions."""
