"""The command line: the same engine and the same run store as the app."""
