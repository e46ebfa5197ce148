"""A pipeline that answers over HTTP."""
