"""All reading and writing: text, JSON lines, whole files and folders, records."""
