"""The workbench: mark, train, correct in the browser; all lies in one file."""
