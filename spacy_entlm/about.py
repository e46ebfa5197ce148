"""The version, read from the installed distribution."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("spacy-entlm")
except PackageNotFoundError:  # used from a folder that is not installed
    __version__ = "0+unknown"
