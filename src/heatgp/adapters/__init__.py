"""Bridges to other libraries; each is imported only where its library is in use."""
