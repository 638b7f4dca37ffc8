"""The parts of generate.py: an oracle that knows nothing of the library, and one file per family of cases."""
