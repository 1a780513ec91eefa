"""Models, flows, theory and verification shared by the chapters of *Learning Dynamics, Executed*."""
