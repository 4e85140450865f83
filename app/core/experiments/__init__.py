"""What an experiment is made of: its spec and its motions. The command line reads the files and knows their lines."""
