"""The judge's machinery: problems, sandbox, worker, wire, report. See README.md in this folder."""
