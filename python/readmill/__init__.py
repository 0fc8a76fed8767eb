"""Runs readmill, which prepares sequencing reads in one pass, from Python.

``readmill.dask`` runs one sample on a Dask cluster. ``readmill.validate`` compares readmill with other tools. The program
itself, ``readmill``, must be installed on every machine; this package has no compiled part.
"""

__version__ = "0.2.0.dev0"
